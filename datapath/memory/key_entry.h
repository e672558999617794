// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One region or window: its grant, which poll cores may read while it changes. Internal to KeyTable.
///
/// A sequence lock: the version is odd while the grant is being written, and readers compare it before and after. Only
/// windows change. A reader that observes a change does not retry but reports "not bound": a window that is being bound
/// was not bound before, one that is being invalidated will not be bound after, and one that is being rebound has
/// another key. So readers never wait for a preempted writer.
///
/// Grants are read field by field with acquire and written with release, which orders them against the version as
/// fences would; both are plain moves on x86.

#include <atomic>
#include <cstdint>

#include "datapath/memory/grant.h"

namespace verbline::memory {

enum class KeyKind : std::uint32_t { region, window_type1, window_type2a, window_type2b, none };

class alignas(64) KeyEntry {
public:
    KeyEntry(KeyKind kind, PdId owner, const Grant& grant) : kind_(kind), owner_(owner) { write(grant); }

    KeyKind kind() const { return kind_; }
    PdId owner() const { return owner_; }
    /// The upper 24 bits of the key, which never change.
    std::uint32_t index() const { return key() >> 8; }

    struct Seen {
        Grant grant;  ///< without any rights if it was being changed meanwhile
        std::uint32_t version;
        bool whole;
    };
    Seen look() const noexcept {
        constexpr auto acquire = std::memory_order_acquire;
        const auto version = version_.load(acquire);
        Seen seen{{wire::RKey{key_.load(acquire)}, Access{rights_.load(acquire)}, PdId{pd_.load(acquire)},
                   wire::Qpn{qpn_.load(acquire)}, base_.load(acquire), iova_.load(acquire), length_.load(acquire)},
                  version,
                  true};
        if (version % 2 == 0 && version_.load(std::memory_order_relaxed) == version) return seen;
        seen.grant.rights = Access::none;
        seen.whole = false;
        return seen;
    }

    /// To change a window: look, decide, lock, write, unlock. The lock is taken only if nothing has changed since the
    /// look. Lock only to write: readers treat a locked entry as changing.
    bool lock(const Seen& seen) noexcept {
        auto version = seen.version;
        return seen.whole && version_.compare_exchange_strong(version, version + 1, std::memory_order_acquire);
    }
    void unlock() noexcept { version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
    void write(const Grant& grant) noexcept {
        constexpr auto release = std::memory_order_release;
        key_.store(static_cast<std::uint32_t>(grant.key), release);
        rights_.store(static_cast<std::uint32_t>(grant.rights), release);
        pd_.store(static_cast<std::uint32_t>(grant.pd), release);
        qpn_.store(static_cast<std::uint32_t>(grant.qpn), release);
        base_.store(grant.base, release);
        iova_.store(grant.iova, release);
        length_.store(grant.length, release);
    }

    /// For a window, written under its lock: the region it is bound to, or null.
    std::atomic<KeyEntry*> region = nullptr;

    /// For a region: counts one more bound window. False if the region has been or is being removed.
    bool hold() noexcept {
        auto holders = holders_.load(std::memory_order_relaxed);
        while (holders != dead)
            if (holders_.compare_exchange_weak(holders, holders + 1, std::memory_order_acq_rel)) return true;
        return false;
    }
    void release() noexcept { holders_.fetch_sub(1, std::memory_order_acq_rel); }
    /// Prevents further `hold`s. False if windows hold the region.
    bool kill() noexcept {
        std::uint32_t nobody = 0;
        return holders_.compare_exchange_strong(nobody, dead, std::memory_order_acq_rel);
    }
    bool killed() const noexcept { return holders_.load(std::memory_order_acquire) == dead; }

private:
    static constexpr std::uint32_t dead = 0xffffffff;

    std::uint32_t key() const { return key_.load(std::memory_order_relaxed); }

    std::atomic<std::uint32_t> version_{0}, key_, rights_, pd_, qpn_;
    std::atomic<std::uint32_t> holders_{0};
    std::atomic<std::uint64_t> base_, iova_, length_;
    const KeyKind kind_;
    const PdId owner_;
};
static_assert(sizeof(KeyEntry) == 64, "one cache line per key");

}  // namespace verbline::memory
