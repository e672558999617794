// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The memory regions and windows of one device by key (IBTA volume 1, 10.6). A region's L_Key and R_Key are equal.
///
/// Two kinds of callers:
/// - The device's owner registers and deregisters: any thread, one at a time (the caller's mutex).
/// - Poll cores resolve, bind and invalidate: concurrently, also during registration. They never wait, take no lock and
///   allocate nothing; `resolve` does not write either.
///
/// Grace period (RCU). A poll core may be inside a call, or copying to an address that `resolve` returned, while the
/// owner removes the region. After `remove`, `revoke` and `change_region`, therefore, the owner waits until every poll
/// core has passed a quiescent state before the deregistration returns to the application. Then `reclaim` frees the
/// objects replaced up to that point; adding keys replaces objects too:
///
///     with the mutex: remove(key); const auto retired = table.retired();
///     without it:     wait for a quiescent state of every poll core
///     with the mutex: table.reclaim(retired);
///
/// Keys: 24 random bits that identify the region or window, never all zero, and a low byte, which is random for regions
/// and changes with every bind of a window. Registered memory is not accessed here.

#include <atomic>
#include <cstdint>
#include <deque>
#include <expected>
#include <memory>

#include "datapath/memory/key_slots.h"
#include "datapath/memory/key_source.h"
#include "pmd/base/error.h"

namespace verbline::memory {

struct RegionAttributes {
    PdId pd{};
    std::byte* base = nullptr;
    std::uint64_t length = 0;  ///< bytes; a region of length 0 allows only zero-length accesses at its own address
    std::uint64_t iova = 0;    ///< the address of `base` for peers and work requests; 0 if `rights` include zero_based
    Access rights = Access::none;
};

/// Type 1 is accessible to any queue pair of its protection domain; type 2 only to the queue pair that bound it, which
/// must still be of its protection domain for 2B, and need not for 2A. Verbs' IBV_MW_TYPE_2 is 2B.
enum class WindowType : std::uint8_t { type1, type2a, type2b };

/// A bind work request, and the queue pair that executes it.
struct Binding {
    wire::RKey new_key{};  ///< the window's new key: its upper 24 bits, and a low byte of the consumer's choice
    wire::RKey region{};
    std::uint64_t address = 0;     ///< in the region's address space (iova)
    std::uint64_t length = 0;      ///< 0 unbinds a window of type 1
    Access rights = Access::none;  ///< remote rights and zero_based; others have no effect on a window
    PdId pd{};
    wire::Qpn qpn{};
};

/// The R_Key that a consumer chooses for a window's next bind: the low byte incremented, as ibv_inc_rkey does.
constexpr wire::RKey next_key(wire::RKey key) {
    const auto value = static_cast<std::uint32_t>(key);
    return wire::RKey{(value & ~0xffu) | ((value + 1) & 0xffu)};
}

class KeyTable {
public:
    /// A quarter of the 24-bit key space, so that most guesses miss.
    static constexpr std::size_t max_keys = 1 << 22;

    explicit KeyTable(KeySource source = SystemRandom());
    ~KeyTable();
    KeyTable(const KeyTable&) = delete;
    KeyTable& operator=(const KeyTable&) = delete;

    // The owner's calls. They identify a key by its upper 24 bits.

    /// Registers a region. EINVAL: contradictory rights, or a range that wraps. EOPNOTSUPP: unknown rights. ENOMEM: too
    /// many keys.
    Result<wire::RKey> add_region(const RegionAttributes& attributes);
    /// Reregisters a region under the same key. EBUSY: windows are bound to it. On failure nothing has changed.
    Result<void> change_region(wire::RKey key, const RegionAttributes& attributes);
    /// Allocates an unbound window; returns the key by which to bind it.
    Result<wire::RKey> add_window(PdId pd, WindowType type);
    /// Removes a region or a window, bound or not. EBUSY: windows are bound to the region.
    Result<void> remove(wire::RKey key);
    /// The same, but unbinds the windows that are bound to the region. Visits every key if there are any.
    Result<void> revoke(wire::RKey key);
    /// Unbinds the windows bound to a destroyed queue pair: call after its poll core has released it and before its
    /// number is reused. Visits every key if there are windows.
    void unbind_all(wire::Qpn qpn);

    /// Sequence number of the last replacement or removal; pass it to `reclaim` after the grace period.
    std::uint64_t retired() const { return retirements_; }
    void reclaim(std::uint64_t retired);

    std::size_t size() const { return size_; }

    // The poll cores' calls.

    /// Returns a pointer to [address, address + size) if `qpn` of `pd` has the rights `needed` there: remote rights for
    /// a peer's access, local_write or none for a local access by L_Key. Do not call it for a zero-length RDMA READ or
    /// WRITE, whose key must not be checked (IBTA C9-88).
    std::expected<std::byte*, Fault> resolve(wire::RKey key, PdId pd, wire::Qpn qpn, std::uint64_t address,
                                             std::uint64_t size, Access needed) const noexcept {
        const auto* const entry = find(key);
        if (entry == nullptr) return std::unexpected(Fault::unknown_key);
        return entry->look().grant.resolve(key, pd, qpn, address, size, needed);
    }

    /// Executes a bind of the window that `window` and `binding.new_key` identify by their upper 24 bits (10.6.6.2). A
    /// window of type 2 must be unbound; one of type 1 may be bound, and is rebound. Returns the new key.
    std::expected<wire::RKey, Fault> bind(wire::RKey window, const Binding& binding) noexcept;

    /// Executes a local invalidate, or a peer's (SEND with invalidate), of a window of type 2 (10.6.7.2).
    std::expected<void, Fault> invalidate(wire::RKey key, PdId pd, wire::Qpn qpn) noexcept;

private:
    struct Retired {
        std::uint64_t number;
        std::unique_ptr<const KeyEntry> entry;
        std::unique_ptr<const KeySlots> slots;
    };

    KeyEntry* find(wire::RKey key) const noexcept {
        auto* const entry = slots_.load(std::memory_order_acquire)->find(static_cast<std::uint32_t>(key) >> 8);
        return entry != nullptr && entry->kind() != KeyKind::none ? entry : nullptr;
    }
    Result<wire::RKey> unused_key();
    Result<wire::RKey> add(KeyKind kind, PdId owner, Grant grant);
    void grow();
    void retire(const KeyEntry* entry, const KeySlots* slots);
    std::expected<KeyEntry*, Fault> hold_region(const KeyEntry& window, const Binding& binding) const noexcept;

    KeySource source_;
    KeyEntry tombstone_{KeyKind::none, any_pd, {}};
    std::atomic<KeySlots*> slots_;
    std::size_t size_ = 0, windows_ = 0;
    std::uint64_t retirements_ = 0;
    std::deque<Retired> retired_;
};

}  // namespace verbline::memory
