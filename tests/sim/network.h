// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A network at virtual time: hosts on one output-queued, learning Ethernet switch, and whatever goes wrong on the way.
///
///     Network network(Seed{7}, *packet_pool());
///     auto& a = network.add_port({.rate_bps = 100'000'000'000, .delay = 1000});
///     auto& b = network.add_port({.in = {.random = {.loss = 0.01}}});
///     a.tx_burst(0, ...);
///     while (const auto next = network.next_event()) {
///         network.advance(*next);
///         b.rx_burst(0, ...);
///     }
///
/// A packet from A to B takes its bits' time at A's rate, A's delay, the time that B's queue needs (B's rate), B's
/// delay. The switch is store and forward. It sends multicast, and what it does not know the port of, to all but the
/// sender.
///
/// There is no time but that of `advance`, and no chance but that of the seed: equal calls give equal packets, bit for
/// bit and nanosecond by nanosecond. One thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "datapath/wire/types.h"
#include "pmd/base/counter.h"
#include "tests/sim/port.h"
#include "tests/sim/random.h"

struct rte_mempool;

namespace verbline::sim {

#define VERBLINE_SIM_SWITCH_COUNTERS(X)                                       \
    X(forwarded, "packets sent to the one port that their address is behind") \
    X(flooded, "packets sent to all ports but the sender's")                  \
    X(dropped_same_port, "packets whose receiver is where they came from")    \
    X(dropped_no_mbuf, "copies not made because the pool is empty")

struct SwitchCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_SIM_SWITCH_COUNTERS)
};

class Network {
public:
    /// `pool` serves copies: its buffers should hold the longest frame in use. It outlives the network.
    Network(Seed seed, rte_mempool& pool) : seeds_(seed), pool_(pool) {}
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;
    ~Network();

    /// The port is the network's.
    SimulatedPort& add_port(PortSetup setup);

    Time now() const { return now_; }
    /// Moves time to `now`, which is not before the time it was, and every packet as far as it has come by then.
    void advance(Time now);
    /// When a packet next reaches the switch or a host; none: no packet is under way.
    std::optional<Time> next_event() const;
    /// Packets under way; those in receive rings are not.
    std::size_t in_flight() const { return events_.size(); }
    /// Stages of all packets' ways so far: what does not change while nobody sends and nothing is forwarded.
    std::uint64_t moved() const { return order_; }

    /// The address is behind this port from now on, whatever the switch has learned or will.
    void place(const wire::MacAddress& mac, const SimulatedPort& port);

    rte_mempool& pool() const { return pool_; }
    const SwitchCounters& counters() const { return counters_; }

private:
    friend class SimulatedPort;

    struct Event {
        Time at;
        std::uint64_t order;  ///< of making: what is due at the same time happens in that order
        rte_mbuf* packet;
        std::uint32_t port;
        bool at_host;                               ///< or at the switch
        bool operator<(const Event& other) const {  // the heap's first is the earliest
            return at != other.at ? at > other.at : order > other.order;
        }
    };

    struct Place {
        std::uint32_t port;
        bool given;  ///< by the test or by the host's device: no frame with a flipped bit may move it
    };

    void to_switch(const SimulatedPort& from, const Link::Arrivals& arrivals) { schedule(from, arrivals, false); }
    void schedule(const SimulatedPort& port, const Link::Arrivals& arrivals, bool at_host);
    void schedule(const SimulatedPort& port, const Link::Arrival& arrival, bool at_host);
    void forward(SimulatedPort& from, rte_mbuf* frame);
    void flood(const SimulatedPort& from, rte_mbuf* frame);
    void enqueue(SimulatedPort& to, rte_mbuf* frame);
    void learn(const SimulatedPort& from, const rte_mbuf& frame);

    Random seeds_;
    rte_mempool& pool_;
    Time now_ = 0;
    std::uint64_t order_ = 0;
    std::vector<Event> events_;  ///< a heap
    std::vector<std::unique_ptr<SimulatedPort>> ports_;
    std::unordered_map<std::uint64_t, Place> table_;  ///< by MAC address
    SwitchCounters counters_;
};

}  // namespace verbline::sim
