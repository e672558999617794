// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/link/hub_broker.h"

#include <utility>

namespace verbline::verbs {

bool HubBroker::ask(wire::MacAddress peer) {
    const std::unique_lock lock(hub_mutex_, std::try_to_lock);
    if (!lock) return false;
    say_ended();  // first, or the hub would still list the previous link
    return hub::ask_direct(link_.lane, peer);
}

std::optional<pmd::DirectNews> HubBroker::next_news() {
    const std::unique_lock lock(hub_mutex_, std::try_to_lock);
    if (!lock) return std::nullopt;
    say_ended();
    return hub::take_direct_news(link_.lane);
}

void HubBroker::end(pmd::DirectId id) {
    ended_.push_back(id);
}

void HubBroker::say_ended() {
    for (const auto id : std::exchange(ended_, {})) hub::end_direct(link_.lane, id);
}

}  // namespace verbline::verbs
