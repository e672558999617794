// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Impairments of one direction of one queue: each packet's fate is decided on admission; it is released when it is
/// due.
///
/// Every packet gets a due time and leaves in that order (equal times: in order of admission). Delay, jitter and
/// reordering only choose that time. Pure: reads no clock; owns the packets it holds.

#include <cstdint>
#include <random>
#include <vector>

#include "pmd/impair/spec.h"
#include "pmd/netdev.h"

namespace verbline::pmd {

#define VERBLINE_IMPAIR_COUNTERS(X)                               \
    X(lost, "packets dropped on purpose")                         \
    X(duplicated, "packets that went on twice")                   \
    X(reordered, "packets held so that later ones overtake")      \
    X(corrupted, "packets with one bit flipped")                  \
    X(dropped_full, "packets dropped because too many were held") \
    X(dropped_down, "packets still held when the device went down")

struct ImpairCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_IMPAIR_COUNTERS)
};

class ImpairLane {
public:
    static constexpr std::size_t capacity = 4096;  ///< packets held; more are dropped
    static constexpr Time reorder_hold = 100 * microsecond;

    ImpairLane(const Impairments& impairments, std::uint64_t seed);
    ImpairLane(const ImpairLane&) = delete;
    ImpairLane& operator=(const ImpairLane&) = delete;
    ~ImpairLane();

    /// Replaces the impairments; packets that are held leave when they were to.
    void set(const Impairments& impairments, std::uint64_t seed);

    /// How many packets it holds.
    std::size_t held() const { return held_.size(); }
    /// Whether there is room for a whole burst with every packet duplicated.
    bool has_room() const { return held_.size() + 2 * max_burst <= capacity; }
    void admit(rte_mbuf* packet, Time now);
    /// Moves packets that are due to `out` and returns how many.
    std::uint16_t release(Time now, Burst out);
    /// Frees all held packets, and `ready`: packets that were released but not accepted by the device.
    void drop(Burst ready = {});

    const ImpairCounters& counters() const { return counters_; }

private:
    struct Held {
        Time due;
        std::uint64_t order;
        rte_mbuf* packet;
        bool operator<(const Held& other) const {  // the heap's first is the earliest
            return due != other.due ? due > other.due : order > other.order;
        }
    };

    bool chance(double probability);
    void hold(rte_mbuf* packet, Time now);
    rte_mbuf* corrupt(rte_mbuf* packet);

    Impairments impairments_;
    std::mt19937_64 random_;
    std::uint64_t order_ = 0;
    std::vector<Held> held_;  ///< a heap
    ImpairCounters counters_;
};

}  // namespace verbline::pmd
