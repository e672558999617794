// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The control thread's link to a shard: commands down, events up. Commands keep their order and are never lost: those
/// that do not fit the ring are queued here. Only packets are dropped meanwhile, as they would be stale later, and
/// would hold mbufs of the shared pool.

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "control/loop/loop.h"
#include "datapath/router/messages.h"
#include "datapath/router/ring.h"
#include "pmd/base/counter.h"
#include "pmd/base/event_descriptor.h"
#include "pmd/wakeups/wake_signal.h"

namespace verbline::router {

#define VERBLINE_SHARD_LINK_COUNTERS(X) \
    X(control_tx_dropped_shard_busy,    \
      "packets of the control thread's own not sent because the shard was behind with its commands")

struct ShardLinkCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_SHARD_LINK_COUNTERS)
};

class ShardLink {
public:
    using Handler = std::function<void(const Event&)>;

    /// `name` is unique in the process. `handler` is called from the loop; it owns an mbuf in the event. `socket` is
    /// the NUMA socket of the shard, where the rings are to lie.
    static Result<std::unique_ptr<ShardLink>> create(control::Loop& loop, const std::string& name, Handler handler,
                                                     int socket = pmd::any_numa_socket);
    ~ShardLink();

    void send(const Command& command);
    /// From now on the handler is not called: of what the shard has handed up, packets are freed with the link.
    void ignore_events() { watch_.cancel(); }

    /// Commands that do not fit the ring and wait here.
    std::size_t waiting() const { return backlog_.size(); }
    void counters(const CounterVisitor& visit) const;

    /// The shard's ends of the link.
    Ring<Command>& commands() { return commands_; }
    Ring<Event>& events() { return events_; }
    const EventDescriptor& wake() const { return wake_; }
    /// Sent after each command. Interrupt it to end a wait of the shard for another reason.
    pmd::WakeSignal& shard_signal() { return shard_signal_; }

private:
    ShardLink(control::Loop& loop, Ring<Command> commands, Ring<Event> events, EventDescriptor wake, Handler handler);
    void drain();
    void send_backlog();

    control::Loop& loop_;
    Ring<Command> commands_;
    Ring<Event> events_;
    EventDescriptor wake_;
    pmd::WakeSignal shard_signal_;
    Handler handler_;
    std::deque<Command> backlog_;
    ShardLinkCounters counters_;
    control::Watch watch_;
    control::Timer retry_;
};

}  // namespace verbline::router
