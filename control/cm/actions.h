// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Output of one step of a session's state machine, carried out after the session's lock is released: MADs to send,
/// sessions found stale.

#include <cstdint>
#include <utility>
#include <vector>

#include "control/cm/counters.h"
#include "control/cm/event.h"
#include "control/cm/remote_end.h"
#include "control/mad/gmp.h"

namespace verbline::cm {

class Manager;

/// Output interface of the state machines. Passed to each call, never kept. Tests of a machine alone implement it too.
class ActionSink {
public:
    virtual void send(const mad::GmpPeer& to, const mad::MadBuffer& mad) = 0;
    /// Queues an event for the user; order is kept.
    virtual void emit(EndpointEvent event) = 0;
    virtual void count(Count count) = 0;
    /// Registers the remote queue pair as this endpoint's. False: another open connection uses it; that one is closed,
    /// and ours is to be rejected as stale (reason 10).
    virtual bool claim(const RemoteEnd& queue_pair) = 0;

protected:
    ~ActionSink() = default;
};

class Actions final : public ActionSink {
public:
    Actions(Manager& manager, std::uint32_t id) : manager_(manager), id_(id) {}

    void send(const mad::GmpPeer& to, const mad::MadBuffer& mad) override { sends_.emplace_back(to, mad); }
    void emit(EndpointEvent event) override { events_.push_back(std::move(event)); }
    void count(Count count) override;
    bool claim(const RemoteEnd& queue_pair) override;

    std::vector<EndpointEvent>& events() { return events_; }
    /// Call with no session lock held. `requester`: the sender of a REQ whose queue pair was claimed.
    void carry_out(Time now, const mad::GmpPeer* requester = nullptr);

private:
    Manager& manager_;
    std::uint32_t id_;
    std::vector<std::pair<mad::GmpPeer, mad::MadBuffer>> sends_;
    std::vector<EndpointEvent> events_;
    std::uint32_t stale_ = 0;  ///< id of the session that owns the claimed queue pair; 0: none
};

}  // namespace verbline::cm
