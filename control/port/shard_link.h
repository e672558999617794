// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The control thread's end of a shard: commands down, events up. Commands keep their order and are never lost: what
/// the ring does not take at once waits here.

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "control/loop/loop.h"
#include "datapath/shard/messages.h"
#include "datapath/shard/ring.h"
#include "pmd/base/event_descriptor.h"

namespace verbline::port {

class ShardLink {
public:
    using Handler = std::function<void(const shard::Event&)>;

    /// `name` is unique in the process. `handler` is called from the loop; an mbuf in the event is its own.
    static Result<std::unique_ptr<ShardLink>> create(control::Loop& loop, const std::string& name, Handler handler);
    ~ShardLink();

    void send(const shard::Command& command);

    /// The shard's ends.
    shard::Ring<shard::Command>& commands() { return commands_; }
    shard::Ring<shard::Event>& events() { return events_; }
    int wake() const { return wake_.get(); }

private:
    ShardLink(control::Loop& loop, shard::Ring<shard::Command> commands, shard::Ring<shard::Event> events,
              EventDescriptor wake, Handler handler);
    void drain();
    void send_backlog();

    control::Loop& loop_;
    shard::Ring<shard::Command> commands_;
    shard::Ring<shard::Event> events_;
    EventDescriptor wake_;
    Handler handler_;
    std::deque<shard::Command> backlog_;
    control::Watch watch_;
    control::Timer retry_;
};

}  // namespace verbline::port
