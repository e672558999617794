// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The subnet administration client of one port: paths, groups, subscriptions and recovery.
///
///     Transport ── MADs ──> Client ──┬── Paths, Groups, Subscriptions, SubnetWatch
///         └── PortEvent ──> Agent ───┘      Reports of traps 64 and 65 put paths in doubt
///
/// On any PortEvent except port down, or when SubnetWatch reports a loss, all state at the SA is renewed: groups are
/// joined and traps subscribed to again, and paths are put in doubt but still answer.
///
/// Owned by the control thread; the transport and the loop outlive it. One agent per transport, whose users may be
/// several interfaces: the partitions of the port.

#include <functional>
#include <memory>

#include "control/loop/loop.h"
#include "control/mad/transport.h"
#include "control/sa/client.h"
#include "control/sa/groups.h"
#include "control/sa/observers.h"
#include "control/sa/paths.h"
#include "control/sa/subnet_watch.h"
#include "control/sa/subscriptions.h"

namespace verbline::sa {

#define VERBLINE_SA_AGENT_COUNTERS(X)                                              \
    X(start_overs, "times everything was registered anew with the subnet manager") \
    X(losses_found, "subnet manager restarts detected by a lost membership")       \
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
    const Paths& paths() const { return paths_; }
    Groups& groups() { return groups_; }
    const Groups& groups() const { return groups_; }
    /// Whether the SA answered the last query of SubnetWatch.
    bool sm_answering() const { return watch_.answering(); }

    /// Adds an observer of port events, called after the agent has handled them.
    [[nodiscard]] Observation on_event(std::function<void(mad::PortEvent)> observer) {
        return observers_.add(std::move(observer));
    }
    /// Adds an observer of losses of our registrations that no event has reported, called after the agent has handled
    /// them.
    [[nodiscard]] Observation on_loss(std::function<void()> observer) {
        return loss_observers_.add(std::move(observer));
    }
    /// Sets an observer of Reports, called after the agent has handled them.
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
    Observers<mad::PortEvent> observers_;
    Observers<> loss_observers_;
    std::function<void(const wire::Notice&)> report_observer_;
    control::Timer start_over_;  ///< coalesces simultaneous events into one start_over
};

}  // namespace verbline::sa
