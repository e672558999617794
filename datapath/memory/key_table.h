// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// From keys to memory: the regions and windows of one device (IBTA volume 1, 10.6). An L_Key is its region's R_Key.
///
/// Two kinds of callers:
/// - The owner of the device registers and deregisters: any thread, one at a time (the caller's mutex).
/// - Poll cores resolve, bind and invalidate: at any time, all at once, also during the former. They never wait, take
///   no lock and allocate nothing; `resolve` writes nothing either.
///
/// Grace. A poll core may be inside of a call, or in the middle of a copy to an address that `resolve` gave, while the
/// owner removes the region. After `remove` and `change_region`, therefore, the owner waits until every poll core has
/// once been outside of all of them (RCU's quiescent state) before the application hears that its memory is its own
/// again. Then `reclaim` frees what calls up to that moment replaced; adding keys replaces things too:
///
///     with the mutex: remove(key); const auto retired = table.retired();
///     without it:     wait for a quiescent state of every poll core
///     with the mutex: table.reclaim(retired);
///
/// Keys: 24 random bits that name the region or window, and a low byte, which is random for regions and changes with
/// every bind of a window. None is 0 in its upper 24 bits. Registered memory is not touched here.

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
    std::uint64_t length = 0;  ///< bytes; 0 is a region that grants nothing but its own address
    std::uint64_t iova = 0;    ///< the address of `base` for peers and work requests; 0 if rights hold zero_based
    Access rights = Access::none;
};

/// Type 1 is open to any queue pair of its protection domain; type 2 to the queue pair that bound it, which must (2B)
/// or need not (2A) be of its protection domain still. Verbs' IBV_MW_TYPE_2 is 2B.
enum class WindowType : std::uint8_t { type1, type2a, type2b };

/// A bind work request, and the queue pair that executes it.
struct Binding {
    wire::RKey new_key{};  ///< the window's from now on: its upper 24 bits, a low byte of the consumer's choice
    wire::RKey region{};
    std::uint64_t address = 0;     ///< in the region's terms
    std::uint64_t length = 0;      ///< 0 unbinds a window of type 1
    Access rights = Access::none;  ///< remote rights and zero_based; others mean nothing to a window
    PdId pd{};
    wire::Qpn qpn{};
};

/// The key that binding a window of type 1 gives it: another low byte, as ibv_inc_rkey has it.
constexpr wire::RKey next_key(wire::RKey key) {
    const auto value = static_cast<std::uint32_t>(key);
    return wire::RKey{(value & ~0xffu) | ((value + 1) & 0xffu)};
}

class KeyTable {
public:
    /// A quarter of the numbers there are: the others are for guesses to miss.
    static constexpr std::size_t max_keys = 1 << 22;

    explicit KeyTable(KeySource source = SystemRandom());
    ~KeyTable();
    KeyTable(const KeyTable&) = delete;
    KeyTable& operator=(const KeyTable&) = delete;

    // The owner's calls. Keys given to them name by their upper 24 bits.

    /// EINVAL: rights that do not go together, or a range that wraps. EOPNOTSUPP: unknown rights. ENOMEM: too many.
    Result<wire::RKey> add_region(const RegionAttributes& attributes);
    /// Everything changes but the key. EBUSY: windows are bound to it. On failure nothing has changed.
    Result<void> change_region(wire::RKey key, const RegionAttributes& attributes);
    /// A window without binding; its key serves to bind it.
    Result<wire::RKey> add_window(PdId pd, WindowType type);
    /// A region or a window, bound or not. EBUSY: a region that windows are bound to.
    Result<void> remove(wire::RKey key);
    /// A queue pair is gone from its poll core, and its number free for another: the windows bound to it are unbound.
    /// Looks at every key if there are windows.
    void unbind_all(wire::Qpn qpn);

    /// How much has been replaced or removed so far; what `reclaim` is to be told after the grace.
    std::uint64_t retired() const { return retirements_; }
    void reclaim(std::uint64_t retired);

    std::size_t size() const { return size_; }

    // The poll cores' calls.

    /// Where [address, address + size) lies, if `qpn` of `pd` may do there what `needed` says: remote rights for a
    /// peer's access, local_write or none for our own by L_Key. A zero-length RDMA READ or WRITE carries a key that
    /// must not be looked at (IBTA C9-88): do not ask.
    std::expected<std::byte*, Fault> resolve(wire::RKey key, PdId pd, wire::Qpn qpn, std::uint64_t address,
                                             std::uint64_t size, Access needed) const noexcept {
        const auto* const entry = find(key);
        if (entry == nullptr) return std::unexpected(Fault::unknown_key);
        return entry->look().grant.resolve(key, pd, qpn, address, size, needed);
    }

    /// Executes a bind of the window that `window` and `binding.new_key` name by their upper 24 bits (10.6.6.2). A
    /// window of type 2 must not be bound; one of type 1 may be, and is bound anew. Returns the new key.
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
