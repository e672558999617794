// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The two ends of a memif ring: copy frames from mbufs to shared slots, and back.
///
/// Shared memory is not trusted: the peer may write anything at any time. Indices are range-checked, descriptors are
/// checked against the regions, and each is read once. After a violation the ring is unusable (`broken`), and the
/// control thread ends the connection.

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pmd/memif/notifier.h"
#include "pmd/memif/protocol.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::pmd::memif {

enum class Direction : std::uint8_t { client_to_server, server_to_client };

using Regions = std::vector<std::span<std::byte>>;

/// A ring in validated memory: `start` has room for ring_bytes(log2_size) and is aligned for RingHeader.
struct RingMemory {
    std::byte* start = nullptr;
    unsigned log2_size = 0;

    std::uint16_t size() const { return static_cast<std::uint16_t>(1u << log2_size); }
    RingHeader& header() const { return *reinterpret_cast<RingHeader*>(start); }
    Descriptor descriptor(std::uint16_t index) const;  ///< one read of each word
    void set_descriptor(std::uint16_t index, std::uint16_t flags, std::uint16_t region, std::uint32_t length) const;

private:
    std::uint64_t* words(std::uint16_t index) const;
};

/// Common to both ends: each writes one index, which the peer reads, and reads the peer's.
class RingEnd {
public:
    bool broken() const { return broken_.load(std::memory_order_relaxed); }

protected:
    RingEnd(RingMemory ring, const Regions& regions) : ring_(ring), regions_(regions) {}

    std::optional<std::span<std::byte>> buffer(const Descriptor& descriptor) const;
    std::uint16_t load(std::uint16_t& index) const { return std::atomic_ref(index).load(std::memory_order_acquire); }
    void store(std::uint16_t& index, std::uint16_t value) const {
        std::atomic_ref(index).store(value, std::memory_order_release);
    }
    void break_off() { broken_.store(true, std::memory_order_relaxed); }

    RingMemory ring_;
    const Regions& regions_;
    std::uint16_t own_ = 0;  ///< slots produced or consumed so far

private:
    std::atomic<bool> broken_{false};
};

class Producer : public RingEnd {
public:
    struct Counters {
        Counter& packets;
        Counter& bytes;
        Counter& oversize;  ///< frames dropped because they need more slots than a frame may take
    };

    /// `buffer_size` is the slot size of a client-to-server ring; in the other direction each descriptor states it.
    /// `signal` is the consumer's eventfd, used while the consumer does not poll. Without a `notifier` it is signalled
    /// by a plain write, which must be known not to block.
    Producer(RingMemory ring, const Regions& regions, Direction direction, std::uint32_t buffer_size, int signal,
             const Notifier* notifier = nullptr)
        : RingEnd(ring, regions),
          direction_(direction),
          buffer_size_(buffer_size),
          signal_(signal),
          notifier_(notifier) {}

    /// Copies frames from the front of `burst` into the ring and frees them; stops at the first for which there is no
    /// room. Returns how many it took.
    std::uint16_t send(Burst burst, Counters counters);

private:
    struct Place {
        std::span<std::byte> room;
        std::uint16_t region;
    };
    enum class Placed : std::uint8_t { yes, no_room, never };

    Placed place(const rte_mbuf& packet, std::uint16_t free);
    Placed place_one(const rte_mbuf& packet, const Place& place);
    Placed place_chain(const rte_mbuf& packet, std::uint16_t free);
    std::optional<Place> slot(std::uint16_t index);

    Direction direction_;
    std::uint32_t buffer_size_;
    int signal_;
    const Notifier* notifier_;
};

class Consumer : public RingEnd {
public:
    struct Counters {
        Counter& packets;
        Counter& bytes;
        Counter& no_mbuf;    ///< frames dropped, and receives deferred, for lack of an mbuf
        Counter& malformed;  ///< empty frames
    };

    /// `buffer_size` is the size with which slots of a server-to-client ring are offered. `signal` is the eventfd that
    /// the producer signals while signals are enabled; -1 if there is none.
    Consumer(RingMemory ring, const Regions& regions, Direction direction, std::uint32_t buffer_size, rte_mempool* pool,
             int signal = -1);

    /// Call once when the connection is established: disables signals and offers the slots.
    void open();
    std::uint16_t receive(Burst burst, Counters counters);
    /// Whether the ring holds frames that have not been received.
    bool unread() const;

    int signal() const { return signal_; }
    /// Enables or disables the producer's signals, and clears pending ones. After enabling, a frame published earlier
    /// is visible to the next `receive`, and every later one is signalled.
    void want_signals(bool wanted);

private:
    rte_mbuf* take(rte_mbuf* packet, std::uint16_t& available, Counters& counters);
    void publish();

    Direction direction_;
    std::uint32_t buffer_size_;
    rte_mempool* pool_;
    int signal_;
    bool signalled_ = false;  ///< signals are enabled
};

}  // namespace verbline::pmd::memif
