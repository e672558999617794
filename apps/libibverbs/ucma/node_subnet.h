// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The subnet of a node's port, which the node asks for all its programs.
///
///     find, join ──> LinkSubnet ──> the node
///     a timer ─────> LinkSubnet: what the node has found ──> handlers
///
/// The node says nothing twice: what is still open after `ask_interval`, as when the node has been restarted meanwhile,
/// is asked again, and given up after `patience`.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "apps/libibverbs/port/link_subnet.h"
#include "apps/libibverbs/ucma/subnet.h"
#include "control/loop/loop.h"
#include "pmd/base/time.h"

namespace verbline::verbs {

#define VERBLINE_NODE_SUBNET_COUNTERS(X)                                            \
    X(subnet_questions, "neighbours, paths and groups that the node was asked for") \
    X(subnet_questions_again, "of these, asked again after a second")               \
    X(subnet_given_up, "of these, without an answer at all")
struct NodeSubnetCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_NODE_SUBNET_COUNTERS)
};

class NodeSubnet final : public Subnet {
public:
    static constexpr Time ask_interval = second, patience = 30 * second;

    /// `name`: of the device, in error texts. All outlive the object.
    NodeSubnet(const std::string& name, const OpenedLink& link, LinkSubnet& node, control::Loop& loop,
               Handlers handlers);

    void find_neighbour(Ticket ticket, const wire::Gid& to, wire::PKey pkey) override;
    void find_path(Ticket ticket, const wire::Gid& to, wire::PKey pkey) override;
    void join(Ticket ticket, const rdmacm::GroupRequest& request) override;
    void leave(Ticket ticket, const wire::Gid& mgid) override;
    void cancel(Ticket ticket) override;
    void counters(const CounterVisitor& visit) const override { counters_.each(visit); }

private:
    struct Open {
        hub::SubnetQuestion question;
        Time asked = 0, since = 0;
    };
    void ask(Ticket ticket, const hub::SubnetQuestion& question);
    void look();
    void take(const hub::SubnetNews& news);
    void take(const hub::SubnetGroup& group);
    void repeat(Time now);
    void give_up(Ticket ticket, const hub::SubnetQuestion& question);
    void arm(Time pause);
    /// Open questions that are answered by this, which are open no more.
    template <class Question>
    std::vector<Ticket> answered(const Question& question);

    const std::string& name_;
    LinkSubnet& node_;
    control::Loop& loop_;
    const Handlers handlers_;
    std::map<Ticket, Open> open_;
    std::map<std::uint32_t, Ticket> users_;  ///< of groups, by the number that the node knows them by
    std::uint32_t last_user_ = 0;
    Time pause_ = 0;
    bool has_broadcast_ = false;  ///< IPoIB's group, without which programs do not begin
    control::Timer timer_;
    NodeSubnetCounters counters_;
};

}  // namespace verbline::verbs
