// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What all parts of a schedule of connection managers share: plan, time, chance, the nodes and everybody who has ever
/// had an endpoint there.

#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "control/cm/manager.h"
#include "tests/sim/agenda.h"
#include "tests/sim/cm_plan.h"
#include "tests/sim/cm_simulation.h"
#include "tests/sim/cm_word.h"
#include "tests/sim/random.h"

namespace verbline::sim {

/// Who has an endpoint. Known to everybody by a number, which private data tells to the other side.
struct CmUser {
    unsigned number = 0, node = 0;
    CmWord word;
    cm::EndpointPointer endpoint{};  ///< none: dropped
    cm::CommunicationId local{}, remote{};
    wire::Qpn qpn{}, remote_qpn{};
    wire::Psn psn{}, remote_psn{};
    wire::CmServiceId service{};
    cm::Transport transport{};
    unsigned peer = 0;       ///< the other side's number, as it told; 0: not known yet
    bool told = false;       ///< on_ready was called, and nothing was drained since
    bool lazy = false;       ///< a poll is planned
    bool forgotten = false;  ///< its node has restarted since
};

class CmNode;

struct CmScene {
    CmScene(Seed seed, bool with_trace);
    ~CmScene();

    Random random;
    CmPlan plan;
    Agenda agenda{second};
    bool trace, healed = false;
    std::string fault{};  ///< the first
    CmSummary summary{};
    std::deque<CmUser> users{};  ///< by number, from 1; they stay where they are
    std::vector<std::unique_ptr<CmNode>> nodes{};

    CmUser& user(unsigned number) { return users[number - 1]; }
    CmUser& add_user(unsigned node, CmWord::Kind kind);
    Time about(Time most) { return most == 0 ? 0 : static_cast<Time>(random.below(static_cast<std::uint64_t>(most))); }

    template <class... Values>
    void say(fmt::format_string<Values...> format, Values&&... values) const {
        if (!trace) return;
        fmt::print("{:12.6f} ", static_cast<double>(agenda.now()) / 1e9);
        fmt::print(format, std::forward<Values>(values)...);
        std::putchar('\n');
    }
    template <class... Values>
    void blame(fmt::format_string<Values...> format, Values&&... values) {
        auto text = fmt::format(format, std::forward<Values>(values)...);
        say("FAULT: {}", text);
        if (fault.empty()) fault = fmt::format("at {:.6f} s: {}", static_cast<double>(agenda.now()) / 1e9, text);
    }
};

}  // namespace verbline::sim
