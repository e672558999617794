// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Output of one step of a session's state machine, carried out after the session's lock is released: MADs to send,
/// sessions found stale.

#include <utility>
#include <vector>

#include "control/cm/context.h"
#include "control/mad/gmp.h"

namespace verbline::cm {

class Core;

class Actions final : public Context {
public:
    Actions(Core& core, std::uint32_t id) : core_(core), id_(id) {}

    void send(const mad::GmpPeer& to, const mad::MadBuffer& mad) override { sends_.emplace_back(to, mad); }
    void emit(Event event) override { events_.push_back(std::move(event)); }
    void count(Count count) override;
    bool claim(const RemoteEnd& queue_pair) override;

    std::vector<Event>& events() { return events_; }
    /// Call with no session lock held. `requester`: the sender of a REQ whose queue pair was claimed.
    void carry_out(Time now, const mad::GmpPeer* requester = nullptr);

private:
    Core& core_;
    std::uint32_t id_;
    std::vector<std::pair<mad::GmpPeer, mad::MadBuffer>> sends_;
    std::vector<Event> events_;
    std::uint32_t stale_ = 0;  ///< id of the session that owns the claimed queue pair; 0: none
};

}  // namespace verbline::cm
