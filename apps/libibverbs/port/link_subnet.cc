// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/link_subnet.h"

#include <tuple>
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

hub::SubnetNews LinkSubnet::take() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    return lock ? hub::take_subnet_news(link_.lane) : hub::SubnetNews{};
}

void LinkSubnet::restore() const {
    for (const auto& [key, join] : joined_) std::ignore = hub::ask_subnet(link_.lane, join);
}

}  // namespace verbline::verbs
