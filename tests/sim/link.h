// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One direction of a cable: bits leave one after the other, and what may happen to a packet on its way.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "pmd/base/counter.h"
#include "pmd/base/time.h"
#include "pmd/impair/lane.h"
#include "pmd/impair/spec.h"
#include "tests/sim/random.h"

struct rte_mbuf;

namespace verbline::sim {

/// Packets that leave in [from, until) are lost.
struct Blackout {
    Time from = 0, until = 0;
};

/// Bytes of the frame, counted from its first, `until` not among them.
struct ByteRange {
    std::uint32_t from = 0, until = std::numeric_limits<std::uint32_t>::max();
};

struct Faults {
    pmd::Impairments random;  ///< its delay is beside that of the cable
    Time reorder_hold = pmd::ImpairLane::reorder_hold;
    ByteRange corrupt_range;  ///< where `random.corrupt` flips a bit; frames that do not reach there are spared
    std::vector<Blackout> blackouts;
    std::function<bool(const rte_mbuf&)> drop_if;  ///< a script: called once for each packet, in the order they leave
};

#define VERBLINE_SIM_LINK_COUNTERS(X)                              \
    X(packets, "packets that left, lost ones included")            \
    X(bytes, "their bytes")                                        \
    X(dropped_blackout, "packets lost while the link was dark")    \
    X(dropped_script, "packets that the test's predicate dropped") \
    X(lost, "packets lost by chance")                              \
    X(duplicated, "packets that went on twice")                    \
    X(reordered, "packets held so that later ones overtake")       \
    X(corrupted, "packets with one bit flipped")

struct LinkCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_SIM_LINK_COUNTERS)
};

/// When bits are through at a rate. Exact: what is left of a nanosecond is carried to the next packet.
class Serializer {
public:
    /// When the last bit of `bytes` that are handed over at `now` has left. Rate 0: at once.
    Time send(std::uint32_t bytes, std::uint64_t rate_bps, Time now);
    /// Bytes handed over that have not left.
    std::uint64_t backlog(std::uint64_t rate_bps, Time now) const;

private:
    Time free_at_ = std::numeric_limits<Time>::min();
    std::uint64_t rest_ = 0;  ///< bits * 10^9 beyond `free_at_`, less than a nanosecond's worth
};

/// Fates. Owns no packet: each that enters leaves at once, with a time, or is freed.
class Link {
public:
    explicit Link(Seed seed) : random_(seed) {}

    /// What comes out: none, one or two packets.
    struct Arrival {
        rte_mbuf* packet = nullptr;
        Time at = 0;
    };
    struct Arrivals {
        Arrival first, twin;
    };
    /// The packet is ours alone: not shared with anybody, written to at will.
    Arrivals pass(rte_mbuf* packet, Time departure, Time delay, const Faults& faults);

    Random& random() { return random_; }
    const LinkCounters& counters() const { return counters_; }

private:
    bool drops(const rte_mbuf& packet, Time departure, const Faults& faults);
    Time arrival(Time departure, Time delay, const Faults& faults);
    void corrupt(rte_mbuf& packet, ByteRange range);

    Random random_;
    LinkCounters counters_;
};

}  // namespace verbline::sim
