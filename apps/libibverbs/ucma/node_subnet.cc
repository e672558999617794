// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/node_subnet.h"

#include <algorithm>
#include <cerrno>
#include <ranges>
#include <tuple>
#include <variant>

#include <fmt/format.h>

#include "datapath/wire/text.h"

namespace verbline::verbs {
namespace {

/// Between looks at what the node has said, as long as something is open, and when nothing is.
constexpr Time first_pause = 100 * microsecond, longest_pause = 2 * millisecond, idle_pause = second;

}  // namespace

NodeSubnet::NodeSubnet(const std::string& name, const OpenedLink& link, LinkSubnet& node, control::Loop& loop,
                       Handlers handlers)
    : name_(name), node_(node), loop_(loop), handlers_(std::move(handlers)) {
    if (link.broadcast) has_broadcast_ = true, handlers_.broadcast(*link.broadcast);
    arm(first_pause);
}

void NodeSubnet::ask(Ticket ticket, const hub::SubnetQuestion& question) {
    counters_.subnet_questions.add();
    const auto now = loop_.now();
    const bool said = node_.ask(question);
    open_.insert_or_assign(ticket, Open{question, said ? now : now - ask_interval, now});
    arm(first_pause);
}

void NodeSubnet::find_neighbour(Ticket ticket, const wire::Gid& to, wire::PKey pkey) {
    ask(ticket, hub::FindNeighbour{to, pkey});
}

void NodeSubnet::find_path(Ticket ticket, const wire::Gid& to, wire::PKey pkey) {
    ask(ticket, hub::FindPath{to, pkey});
}

void NodeSubnet::join(Ticket ticket, const rdmacm::GroupRequest& request) {
    const auto user = ++last_user_;
    users_[user] = ticket;
    ask(ticket, hub::JoinSubnetGroup{.mgid = request.mgid,
                                     .user = user,
                                     .send_only = request.send_only,
                                     .pkey = request.pkey,
                                     .qkey = request.qkey});
}

void NodeSubnet::leave(Ticket ticket, const wire::Gid& mgid) {
    open_.erase(ticket);
    const auto found = std::ranges::find(users_, ticket, [](const auto& entry) { return entry.second; });
    if (found == users_.end()) return;
    std::ignore = node_.ask(hub::LeaveSubnetGroup{mgid, found->first});
    users_.erase(found);
}

void NodeSubnet::cancel(Ticket ticket) {
    const auto open = open_.extract(ticket);
    if (!open) return;
    const auto* const join = std::get_if<hub::JoinSubnetGroup>(&open.mapped().question);
    if (join != nullptr) leave(ticket, join->mgid);
}

void NodeSubnet::arm(Time pause) {
    pause_ = pause;
    timer_ = loop_.after(pause_, [this] { look(); });
}

void NodeSubnet::look() {
    take(node_.take());
    const auto now = loop_.now();
    repeat(now);
    arm(open_.empty() && has_broadcast_ ? idle_pause : std::min(pause_ * 2, longest_pause));
}

template <class Question>
std::vector<NodeSubnet::Ticket> NodeSubnet::answered(const Question& question) {
    std::vector<Ticket> tickets;
    for (const auto& [ticket, open] : open_) {
        const auto* const asked = std::get_if<Question>(&open.question);
        if (asked != nullptr && *asked == question) tickets.push_back(ticket);
    }
    for (const auto ticket : tickets) open_.erase(ticket);
    return tickets;
}

/// Handlers may ask again.
void NodeSubnet::take(const hub::SubnetNews& news) {
    if (news.port && news.port->broadcast) has_broadcast_ = true, handlers_.broadcast(*news.port->broadcast);
    for (const auto& found : news.neighbours) {
        const auto gid =
            found.code == 0
                ? Result<wire::Gid>(found.gid)
                : failure(found.code, fmt::format("{}: no host answers for {}", name_, wire::to_string(found.to)));
        for (const auto ticket : answered(hub::FindNeighbour{found.to, found.pkey})) handlers_.neighbour(ticket, gid);
    }
    for (const auto& found : news.paths) {
        const auto path =
            found.code == 0
                ? Result<wire::PathRecord>(found.path)
                : failure(found.code, fmt::format("{}: the node has no path to {}", name_, wire::to_string(found.to)));
        for (const auto ticket : answered(hub::FindPath{found.to, found.pkey})) handlers_.path(ticket, path);
    }
    for (const auto& group : news.groups) take(group);
}

void NodeSubnet::take(const hub::SubnetGroup& group) {
    const auto user = users_.find(group.user);
    if (user == users_.end()) return;  // it has left meanwhile
    const auto ticket = user->second;
    open_.erase(ticket);
    if (group.code == 0) return handlers_.group(ticket, group.mgid, group.group);
    users_.erase(user);
    handlers_.group(ticket, group.mgid,
                    failure(group.code, fmt::format("{}: the subnet administrator refuses group {}", name_,
                                                    wire::to_string(group.mgid))));
}

void NodeSubnet::repeat(Time now) {
    std::vector<std::pair<Ticket, hub::SubnetQuestion>> late;
    for (auto& [ticket, open] : open_) {
        if (now - open.since >= patience) {
            late.emplace_back(ticket, open.question);
        } else if (now - open.asked >= ask_interval && node_.ask(open.question)) {
            counters_.subnet_questions_again.add();
            open.asked = now;
        }
    }
    for (const auto& [ticket, question] : late) give_up(ticket, question);
}

void NodeSubnet::give_up(Ticket ticket, const hub::SubnetQuestion& question) {
    open_.erase(ticket);
    counters_.subnet_given_up.add();
    const auto silent = failure(ETIMEDOUT, fmt::format("{}: the node does not answer", name_));
    if (std::holds_alternative<hub::FindNeighbour>(question)) return handlers_.neighbour(ticket, silent);
    if (std::holds_alternative<hub::FindPath>(question)) return handlers_.path(ticket, silent);
    if (const auto* const join = std::get_if<hub::JoinSubnetGroup>(&question)) {
        users_.erase(join->user);
        handlers_.group(ticket, join->mgid, silent);
    }
}

}  // namespace verbline::verbs
