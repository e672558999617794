// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A router's poll core: its queue of every port, and the router between them.
///
///     commands ──> ┌──────────────────────────────────────────────────────────┐
///                  │ link.receive ──> program ───> router ──> link.transmit   │
///     events  <─── │ kernel.rx_burst ────────────> router ──> kernel.tx_burst │
///                  └──────────────────────────────────────────────────────────┘
///
/// The thread that calls `poll` owns the shard and everything in it. Other threads may call only those functions that
/// say so, and `counters`; they give recent values. Every call is bounded; none blocks, locks or allocates, but for
/// `wait` and `nap`.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "datapath/router/event_sink.h"
#include "datapath/router/idle_wait.h"
#include "datapath/router/messages.h"
#include "datapath/router/port.h"
#include "datapath/router/ring.h"
#include "datapath/router/router.h"
#include "pmd/base/time.h"
#include "pmd/shard/poll_meter.h"
#include "pmd/trace/trace_ring.h"
#include "pmd/wakeups/wake_signal.h"

struct rte_rcu_qsbr;

namespace verbline::router {

enum class Work : std::uint8_t { idle, busy };

struct ShardSetup {
    std::uint16_t queue = 0;       ///< this shard's queue of every device
    std::uint16_t shards = 1;      ///< of the router: each has its share of the limit on ICMP errors
    std::vector<PortSetup> ports;  ///< an InterfaceId is the index of a port
    forward::Fib* fib = nullptr;
    forward::Ipv6Fib* ipv6_fib = nullptr;  ///< null: IPv6 is not carried
    rte_rcu_qsbr* readers = nullptr;       ///< RCU state of the FIBs' readers; the shard is reader number `queue`
    rte_mempool* pool = nullptr;           ///< for segments, fragments and ICMP errors
    const pmd::FlowHash* flows = nullptr;  ///< chooses among several next hops; null: all packets take one
    std::uint32_t max_neighbours = forward::default_neighbours;  ///< of each family
    Ring<Command>* commands = nullptr;
    Ring<Event>* events = nullptr;
    const EventDescriptor* wake_control = nullptr;  ///< signalled when there are events; null: nothing is
    pmd::WakeSignal* wake = nullptr;  ///< sent to the shard after each command; null: the shard cannot wait
    bool deliver_all_to_kernel = false;
    pmd::TraceRing* trace = nullptr;  ///< what the shard does is recorded there; an event's port is its InterfaceId
};

/// Beside pmd::PollCounters.
#define VERBLINE_SHARD_COUNTERS(X)                                  \
    X(rx_bursts, "bursts received, from links and from the kernel") \
    X(rx_burst_packets, "packets in these bursts, with those that were discarded")

struct ShardCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_SHARD_COUNTERS)
};

class Shard {
public:
    explicit Shard(const ShardSetup& setup);
    Shard(const Shard&) = delete;
    Shard& operator=(const Shard&) = delete;
    ~Shard();

    /// One bounded round over commands, ports and timers. From now on the shard is a reader of the FIBs, whose changes
    /// wait for the next poll.
    Work poll(Time now) noexcept;
    /// Until the next poll, no change of the FIBs waits for this shard.
    void stop_reading() noexcept;

    // When there is nothing to do: `arm`; if that is true, `poll` once more; if that is idle, `wait`; then `disarm`.

    /// From now on packets and commands end a wait. False, with nothing armed, if some port must be polled (IdleWait).
    bool arm(Time now) noexcept { return idle_.arm(now); }
    /// Waits for at most `longest`, and reads no FIB until the next poll.
    void wait(Time longest) noexcept;
    void disarm() noexcept { idle_.disarm(); }

    /// Where there is nothing to do, and `arm` failed: sleeps for so long.
    void nap(Time time) noexcept;

    /// How many so far: it has not stopped as long as they grow. Any thread.
    std::uint64_t polls() const { return meter_.counters().polls(); }

    /// Times that its table had no room for a neighbour. Any thread.
    std::uint64_t neighbours_refused() const { return router_.neighbours_refused(); }

    /// Called for each counter; `port` is empty for the shard's own.
    using Visitor =
        std::function<void(std::string_view port, std::string_view name, std::uint64_t value, std::string_view help)>;
    void counters(const Visitor& visit) const;

private:
    bool run_commands(Time now) noexcept;
    bool poll_link(ShardPort& port, Time now) noexcept;
    bool poll_kernel(ShardPort& port, Time now) noexcept;
    void receive(ShardPort& port, Time now) noexcept;
    void run_program(ShardPort& port, Time now) noexcept;
    pmd::Burst run_program(ShardPort& port, link::EthernetInterface& link, pmd::Burst frames, Time now) noexcept;
    bool congested(Time now) noexcept;
    void count_burst(const ShardPort& port, pmd::TraceEvent from, std::size_t packets) noexcept;

    rte_rcu_qsbr& readers_;
    unsigned reader_;
    bool reading_ = false;  ///< online in `readers_`
    pmd::Trace trace_;
    bool congested_ = false;  ///< as recorded last
    Ring<Command>& commands_;
    EventSink events_;
    Ports ports_;
    unsigned read_by_calls_;  ///< devices of which each read is a system call
    Router router_;
    IdleWait idle_;
    link::Reception received_;  ///< of the port polled last; kept, as filling it with zeros takes as long as a packet
    Time next_expiry_ = 0;
    pmd::PollMeter meter_{trace_};
    ShardCounters counters_;
};

}  // namespace verbline::router
