// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A sink that remembers: for tests of a state machine alone.

#include <utility>
#include <vector>

#include "control/cm/actions.h"
#include "control/cm/message.h"

namespace verbline::cm::test {

struct RecordingSink final : ActionSink {
    void send(const mad::GmpPeer& to, const mad::MadBuffer& mad) override { sent.emplace_back(to, mad); }
    void emit(EndpointEvent event) override { reported.push_back(std::move(event)); }
    void count(Count count) override { counted.push_back(count); }
    bool claim(const RemoteEnd&) override { return free; }

    ReceivedMessage last() const { return *ReceivedMessage::parse(sent.back().second); }

    std::vector<std::pair<mad::GmpPeer, mad::MadBuffer>> sent;
    std::vector<EndpointEvent> reported;
    std::vector<Count> counted;
    bool free = true;
};

}  // namespace verbline::cm::test
