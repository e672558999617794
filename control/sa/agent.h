// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Everything that one port has to do with the subnet administrator, put together.
///
///     Transport ── MADs ──> Client ──┬── Paths, Groups, Subscriptions, SubnetWatch
///         └── PortEvent ──> Agent ───┘      Reports of traps 64 and 65 put paths in doubt
///
/// When the subnet may have changed under us (any PortEvent but port down; SubnetWatch), everything starts over: groups
/// are joined again, traps subscribed to again, paths put in doubt; they go on answering meanwhile.
///
/// Owned by the control thread; the transport and the loop outlive it. One agent per transport.

#include <functional>
#include <memory>

#include "control/loop/loop.h"
#include "control/mad/transport.h"
#include "control/sa/client.h"
#include "control/sa/groups.h"
#include "control/sa/paths.h"
#include "control/sa/subnet_watch.h"
#include "control/sa/subscriptions.h"

namespace verbline::sa {

#define VERBLINE_SA_AGENT_COUNTERS(X)                                              \
    X(start_overs, "times everything was registered anew with the subnet manager") \
    X(losses_found, "times the subnet manager was found to have forgotten us")     \
    X(gids_in_service, "Reports of ports that came into service")                  \
    X(gids_out_of_service, "Reports of ports that went out of service")
struct AgentCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_SA_AGENT_COUNTERS)
};

struct AgentOptions {
    PathCacheLimits paths{};
    MembershipTiming membership{};
};

class Agent {
public:
    Agent(mad::Transport& transport, control::Loop& loop, const AgentOptions& options = {});
    Agent(const Agent&) = delete;
    Agent& operator=(const Agent&) = delete;
    ~Agent();

    mad::Transport& transport() { return transport_; }
    const mad::PortFacts& port() const { return transport_.port(); }
    Client& client() { return client_; }
    Paths& paths() { return paths_; }
    Groups& groups() { return groups_; }
    /// Whether a subnet manager answered when last asked.
    bool sm_answering() const { return watch_.answering(); }

    /// Hears of port events after the agent has dealt with them.
    void on_event(std::function<void(mad::PortEvent)> observer) { observer_ = std::move(observer); }
    /// Hears of Reports, after the agent.
    void on_report(std::function<void(const wire::Notice&)> observer) { report_observer_ = std::move(observer); }

    /// Counters of the transport, the transactions, the client, the path cache and the agent.
    void counters(const CounterVisitor& visit) const;

private:
    void event(mad::PortEvent event);
    void report(const wire::Notice& notice);
    void start_over();

    mad::Transport& transport_;
    control::Loop& loop_;
    AgentCounters counters_;
    Client client_;
    Paths paths_;
    Groups groups_;
    Subscriptions subscriptions_;
    SubnetWatch watch_;
    std::function<void(mad::PortEvent)> observer_;
    std::function<void(const wire::Notice&)> report_observer_;
    control::Timer start_over_;  ///< armed: several events at once make one new start
};

}  // namespace verbline::sa
