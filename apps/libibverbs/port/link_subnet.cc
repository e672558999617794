// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/link_subnet.h"

#include <tuple>
#include <utility>
#include <variant>

namespace verbline::verbs {

bool LinkSubnet::ask(const hub::SubnetQuestion& question) {
    const std::scoped_lock lock(mutex_);
    if (const auto* const join = std::get_if<hub::JoinSubnetGroup>(&question)) {
        joined_.insert_or_assign({join->mgid, join->user}, *join);
    } else if (const auto* const leave = std::get_if<hub::LeaveSubnetGroup>(&question)) {
        joined_.erase({leave->mgid, leave->user});
    }
    return hub::ask_subnet(link_.lane, question);
}

void LinkSubnet::look() {
    const std::scoped_lock order(order_mutex_);
    std::optional<hub::SubnetPort> port;
    if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) port = hub::take_subnet_port(link_.lane);
    if (!port) return;
    unread_ = port;
    if (on_port_) on_port_(*port);
}

hub::SubnetNews LinkSubnet::take() {
    const std::scoped_lock order(order_mutex_);
    hub::SubnetNews news;
    if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) news = hub::take_subnet_news(link_.lane);
    if (news.port && on_port_) on_port_(*news.port);
    if (auto before = std::exchange(unread_, std::nullopt); !news.port) news.port = std::move(before);
    return news;
}

/// The port may be another meanwhile.
void LinkSubnet::restore() const {
    if (link_.infiniband() && link_.lane.member) {
        if (auto port = hub::ask_subnet_port(link_.lane); port) link_.lane.news.subnet.port = std::move(*port);
    }
    for (const auto& [key, join] : joined_) std::ignore = hub::ask_subnet(link_.lane, join);
}

}  // namespace verbline::verbs
