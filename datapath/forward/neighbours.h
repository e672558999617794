// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Neighbour table: (interface, IP address) -> link-layer address, with the packets queued for resolution. Owned by one
/// shard. One table for each family.
///
///                enqueue: `first`, resolve it
///        none ───────────────────────────────> pending ──┬─ set ─────> resolved ──┬─ set: another address
///         ^                                  enqueue:    │                        │
///         └────── fail, expire, remove ──────  wait  ────┴──────────  remove  ────┘
///
/// An open-addressing index with linear probing, at most half full: a slot holds 32 bits of the key's hash and the
/// number of an entry, which has the key itself: a lookup touches the index and, almost always, one entry, that of the
/// neighbour. The hash is seeded, so that senders cannot choose addresses that collide.
///
/// An entry does not move during its lifetime. So a sender to one neighbour, such as a route through
/// a gateway, keeps the number of its entry, a rewrite index as of VPP's adjacencies, and looks up the
/// index of the table only after a change.
///
/// Bounded in every direction: `capacity` entries, of which `max_pending` unresolved; each of these may queue
/// `assured_waiting` packets, and up to `max_waiting` while all queues together have no more than `spare_waiting`
/// beyond that: enough for the flows that a route moves to a next hop not yet known, and little more for a scan of a
/// network. Nothing is allocated after construction. The table owns queued packets. Time is the caller's.

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "datapath/forward/interface_id.h"
#include "datapath/neighbour/parameters.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"
#include "pmd/base/counter.h"
#include "pmd/base/time.h"

namespace verbline::forward {

template <class Address>
struct BasicNeighbourKey {
    InterfaceId interface{};
    Address address{};
    auto operator<=>(const BasicNeighbourKey&) const = default;
};
using NeighbourKey = BasicNeighbourKey<wire::Ipv4Address>;
using Ipv6NeighbourKey = BasicNeighbourKey<wire::Ipv6Address>;

/// Of an entry of the table, with its queued packets. The state of the neighbour itself is the neighbour engine's
/// (datapath/neighbour/cache.h), which reports here what it finds.
enum class ResolutionState : std::uint8_t { none, pending, resolved };

/// Outcome of `enqueue`.
enum class Enqueued : std::uint8_t {
    first,    ///< queued, and resolution must be started: emit one event
    waits,    ///< queued; resolution is under way
    refused,  ///< freed: no room for another unresolved neighbour
};

#define VERBLINE_NEIGHBOUR_COUNTERS(X)                                                             \
    X(dropped_wait_queue_full, "packets dropped because newer ones waited for the same neighbour") \
    X(dropped_neighbours_full, "packets for a new neighbour when the table had no room for it")    \
    X(dropped_too_many_unresolved, "packets for a new neighbour while too many were looked for")   \
    X(neighbours_refused, "neighbours that were found, and for which the table had no room")       \
    X(dropped_neighbour_removed, "packets that waited for a neighbour that was removed")           \
    X(neighbours_failed, "neighbours that did not answer in time, or whose resolution failed")

struct NeighbourCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_NEIGHBOUR_COUNTERS)
};

constexpr std::uint32_t default_neighbours = 4'096;

/// Address: the link-layer address, or the link's equivalent.
template <class Address, class IpAddress = wire::Ipv4Address>
class NeighbourTable {
public:
    using NeighbourKey = BasicNeighbourKey<IpAddress>;
    using Number = std::uint32_t;  ///< of an entry

    static constexpr Number no_entry = 0xffff'ffff;
    static constexpr std::size_t assured_waiting = 3;  ///< as the kernel's IPoIB (IPOIB_MAX_PATH_REC_QUEUE)
    static constexpr std::size_t max_waiting = 64;
    static constexpr std::size_t spare_waiting = 512;

    struct Config {
        std::uint32_t capacity = default_neighbours;  ///< 0.2 kB each
        std::uint16_t max_pending = 512;  ///< so that a scan of a network does not evict resolved neighbours
        /// Of a pending neighbour: for answers that get lost on their way from the engine, which fails it earlier.
        Time timeout = neighbour::Parameters{}.resolution_timeout() + neighbour::Parameters{}.retry;
        std::uint64_t seed = 0;  ///< of the hash; anything unpredictable
    };

    /// Packets that were queued, oldest first; the caller owns them.
    struct Waiting {
        std::array<rte_mbuf*, max_waiting> packets{};
        std::size_t size = 0;
        std::span<rte_mbuf*> span() { return std::span(packets).first(size); }
    };

    /// `counters` must outlive the table; several may share them.
    NeighbourTable(const Config& config, NeighbourCounters& counters)
        : config_(config),
          multiplier_((config.seed ^ 0x9e37'79b9'7f4a'7c15) | 1),
          shift_(32 - std::bit_width(std::bit_ceil(2u * config.capacity) - 1)),
          slots_(std::bit_ceil(2u * config.capacity), empty),
          entries_(config.capacity),
          queues_(config.max_pending),
          counters_(counters) {
        for (auto i = config.capacity; i-- > 0;) free_.push_back(i);
        for (Number i = config.max_pending; i-- > 0;) free_queues_.push_back(i);
        pending_.reserve(config.max_pending);
    }
    NeighbourTable(const NeighbourTable&) = delete;
    NeighbourTable& operator=(const NeighbourTable&) = delete;
    ~NeighbourTable() {
        for (auto& queue : queues_) release(queue.take_all());
    }

    /// The address of a resolved neighbour, or null. Valid until the table is next changed.
    const Address* lookup(const NeighbourKey& key) const { return address_at(find(key)); }
    /// A key to look up. `hint`, if not null, is where the caller keeps the number of the entry that was found last for
    /// this key or for another, `no_entry` at first.
    struct HintedKey {
        NeighbourKey key;
        Number* hint = nullptr;
    };
    /// The address, if the hint is the number of the key's entry and that is resolved; else null, and
    /// `lookup_by_index` may still find it. Reads the entry alone.
    const Address* hinted(const HintedKey& keyed) const {
        if (keyed.hint == nullptr || *keyed.hint >= config_.capacity) return nullptr;
        const auto& entry = entries_[*keyed.hint];
        return entry.key == keyed.key && entry.state == ResolutionState::resolved ? &entry.address : nullptr;
    }
    /// The address of a resolved neighbour, or null, by the index; corrects the hint.
    const Address* lookup_by_index(const HintedKey& keyed) const {
        const auto slot = find(keyed.key);
        if (keyed.hint != nullptr) *keyed.hint = number(slots_[slot]);
        return address_at(slot);
    }
    /// Before a `lookup` of several keys, call this for each, so that their cache misses overlap.
    void prefetch(const NeighbourKey& key) const { rte_prefetch0(&slots_[home(hash(key))]); }
    /// The same a second time, once the index is there: for the entry.
    void prefetch_entry(const NeighbourKey& key) const {
        const auto slot = slots_[home(hash(key))];
        if (slot != empty) rte_prefetch0(&entries_[number(slot)]);
    }
    ResolutionState state(const NeighbourKey& key) const {
        const auto slot = find(key);
        return slots_[slot] == empty ? ResolutionState::none : entry_at(slot).state;
    }

    /// Queues `packet` for an unresolved neighbour and takes ownership. If the queue is full, the oldest packet is
    /// dropped.
    Enqueued enqueue(const NeighbourKey& key, rte_mbuf* packet, Time now) {
        auto slot = find(key);
        const bool fresh = slots_[slot] == empty;
        if (fresh && !begin(slot, key)) {
            rte_pktmbuf_free(packet);
            return Enqueued::refused;
        }
        auto& entry = entry_at(slot);
        if (fresh) {
            entry.state = ResolutionState::pending;
            entry.deadline = now + config_.timeout;
            entry.queue = free_queues_.back();
            free_queues_.pop_back();
            pending_.push_back(number(slots_[slot]));
        }
        auto& queue = queues_[entry.queue];
        const bool assured = queue.size < assured_waiting;
        if (!assured && (queue.size == max_waiting || spare_used_ == spare_waiting)) {
            counters_.dropped_wait_queue_full.add();
            rte_pktmbuf_free(queue.pop());
        } else if (!assured) {
            ++spare_used_;
        }
        queue.push(packet);
        return fresh ? Enqueued::first : Enqueued::waits;
    }

    /// Sets or changes the neighbour's address. Returns the packets queued for it. `stored` is false only if the table
    /// is full.
    struct Set {
        bool stored = false;
        Waiting waited;
    };
    Set set(const NeighbourKey& key, const Address& address) {
        const auto slot = find(key);
        if (slots_[slot] == empty && !insert(slot, key)) {
            counters_.neighbours_refused.add();
            return {};
        }
        auto& entry = entry_at(slot);
        Set out{true, {}};
        if (entry.state == ResolutionState::pending) out.waited = end_pending(number(slots_[slot]));
        entry.state = ResolutionState::resolved;
        entry.address = address;
        return out;
    }

    /// Resolution failed: removes a pending neighbour and returns its queued packets, each of which deserves an ICMP
    /// error. Resolved neighbours are unaffected.
    Waiting fail(const NeighbourKey& key) {
        const auto slot = find(key);
        if (slots_[slot] == empty || entry_at(slot).state != ResolutionState::pending) return {};
        counters_.neighbours_failed.add();
        return take_out(slot);
    }

    /// Removes the neighbour in any state, and frees packets queued for it.
    void remove(const NeighbourKey& key) {
        const auto slot = find(key);
        if (slots_[slot] == empty) return;
        const auto waited = take_out(slot);
        counters_.dropped_neighbour_removed.add(waited.size);
        release(waited);
    }

    /// Fails neighbours that have been pending for longer than the timeout: calls failed(key, Waiting) for each.
    template <class Failed>
    void expire(Time now, Failed failed) {
        while (!pending_.empty() && entries_[pending_.front()].deadline <= now) {
            const auto key = entries_[pending_.front()].key;
            failed(key, fail(key));
        }
    }
    /// When `expire` next has something to do.
    std::optional<Time> deadline() const {
        return pending_.empty() ? std::nullopt : std::optional(entries_[pending_.front()].deadline);
    }

    std::size_t size() const { return entries_.size() - free_.size(); }
    std::size_t pending() const { return pending_.size(); }

private:
    /// Packets of a pending neighbour: a ring, so that one that a flood pushes out costs no more than others.
    struct Queue {
        std::array<rte_mbuf*, max_waiting> ring{};
        std::size_t oldest = 0, size = 0;

        void push(rte_mbuf* packet) { ring[(oldest + size++) % max_waiting] = packet; }
        rte_mbuf* pop() {
            --size;
            return ring[std::exchange(oldest, (oldest + 1) % max_waiting)];
        }
        Waiting take_all() {
            std::ranges::rotate(ring, ring.begin() + static_cast<std::ptrdiff_t>(std::exchange(oldest, 0)));
            return {ring, std::exchange(size, 0)};
        }
    };

    /// What a lookup by number reads comes first: one cache line, and the address's first bytes.
    struct alignas(RTE_CACHE_LINE_SIZE) Entry {
        NeighbourKey key;
        ResolutionState state = ResolutionState::none;
        Address address{};
        Number queue = 0;  ///< of the packets, while it is pending
        Time deadline = 0;
    };

    static constexpr std::uint64_t empty = ~std::uint64_t{0};  ///< its number is `no_entry`, which no table has

    /// Multiply-shift hashing: the high bits of the product depend on every bit of the key.
    std::uint32_t hash(const NeighbourKey& key) const {
        const std::uint64_t interface{static_cast<std::uint16_t>(key.interface)};
        if constexpr (std::same_as<IpAddress, wire::Ipv4Address>) {
            return high((interface << 32 | static_cast<std::uint32_t>(key.address)) * multiplier_);
        } else {
            const wire::Bytes address(key.address.bytes);
            const auto first = ((wire::load64(address, 0) ^ config_.seed) + interface) * multiplier_;
            return high((first >> 32 ^ first ^ wire::load64(address, 8)) * multiplier_);
        }
    }
    static constexpr std::uint32_t high(std::uint64_t product) { return static_cast<std::uint32_t>(product >> 32); }
    static constexpr std::uint32_t hash_of(std::uint64_t slot) { return high(slot); }
    static constexpr Number number(std::uint64_t slot) { return static_cast<Number>(slot); }

    std::size_t home(std::uint32_t hash) const { return hash >> shift_; }
    std::size_t next(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

    /// The slot of the key, or the empty one where it belongs. The table always has an empty slot.
    std::size_t find(const NeighbourKey& key) const {
        const auto wanted = hash(key);
        auto slot = home(wanted);
        while (slots_[slot] != empty && !holds(slot, wanted, key)) slot = next(slot);
        return slot;
    }
    bool holds(std::size_t slot, std::uint32_t wanted, const NeighbourKey& key) const {
        return hash_of(slots_[slot]) == wanted && entry_at(slot).key == key;
    }
    Entry& entry_at(std::size_t slot) { return entries_[number(slots_[slot])]; }
    const Entry& entry_at(std::size_t slot) const { return entries_[number(slots_[slot])]; }
    const Address* address_at(std::size_t slot) const {
        if (slots_[slot] == empty) return nullptr;
        const auto& entry = entry_at(slot);
        return entry.state == ResolutionState::resolved ? &entry.address : nullptr;
    }

    /// Room for a neighbour that is to be looked for.
    bool begin(std::size_t slot, const NeighbourKey& key) {
        if (pending_.size() == config_.max_pending) {
            counters_.dropped_too_many_unresolved.add();
            return false;
        }
        if (insert(slot, key)) return true;
        counters_.dropped_neighbours_full.add();
        return false;
    }

    bool insert(std::size_t slot, const NeighbourKey& key) {
        if (free_.empty()) return false;
        slots_[slot] = std::uint64_t{hash(key)} << 32 | free_.back();
        entries_[free_.back()].key = key;
        entries_[free_.back()].state = ResolutionState::none;
        free_.pop_back();
        return true;
    }

    Waiting take_out(std::size_t slot) {
        auto& entry = entry_at(slot);
        Waiting waited;
        if (entry.state == ResolutionState::pending) waited = end_pending(number(slots_[slot]));
        entry.state = ResolutionState::none;
        free_.push_back(number(slots_[slot]));
        close_gap(slot);
        return waited;
    }

    /// Moves later slots of the run back over the gap, unless that would put one before its home: no tombstones.
    void close_gap(std::size_t gap) {
        for (auto slot = next(gap); slots_[slot] != empty; slot = next(slot)) {
            const auto mask = slots_.size() - 1;
            const auto from_home = (slot - home(hash_of(slots_[slot]))) & mask;
            if (from_home < ((slot - gap) & mask)) continue;
            slots_[gap] = slots_[slot];
            gap = slot;
        }
        slots_[gap] = empty;
    }

    /// What has waited for it.
    Waiting end_pending(Number entry) {
        pending_.erase(std::ranges::find(pending_, entry));
        const auto queue = entries_[entry].queue;
        free_queues_.push_back(queue);
        spare_used_ -= std::max(queues_[queue].size, assured_waiting) - assured_waiting;
        return queues_[queue].take_all();
    }
    static void release(Waiting waiting) {
        for (auto* packet : waiting.span()) rte_pktmbuf_free(packet);
    }

    Config config_;
    std::uint64_t multiplier_;
    int shift_;
    std::vector<std::uint64_t> slots_;  ///< hash of the key << 32 | number of its entry
    std::vector<Entry> entries_;
    std::vector<Number> free_;
    std::vector<Number> pending_;  ///< in the order of their deadlines
    std::vector<Queue> queues_;    ///< one for each that may be pending
    std::vector<Number> free_queues_;
    std::size_t spare_used_ = 0;  ///< of `spare_waiting`
    NeighbourCounters& counters_;
};

}  // namespace verbline::forward
