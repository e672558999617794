// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/router_advertisements.h"

#include <algorithm>
#include <random>
#include <utility>

namespace verbline::router {
namespace {

constexpr unsigned withdrawals = neighbour::AdvertiserTiming{}.initial;  // as many as follow soon after a change

bool holds(const std::vector<neighbour::AdvertisedPrefix>& prefixes, const wire::Ipv6Prefix& prefix) {
    return std::ranges::find(prefixes, prefix, &neighbour::AdvertisedPrefix::prefix) != prefixes.end();
}

}  // namespace

RouterAdvertisements::RouterAdvertisements(control::Loop& loop, Send send)
    : loop_(loop), send_(std::move(send)), advertiser_(std::random_device{}()) {}

void RouterAdvertisements::set(const std::optional<neighbour::Advertisement>& content,
                               const std::vector<wire::Ipv6Prefix>& pending) {
    const bool changed = content != content_;
    content_ = content;
    const bool withdrawn = content_ && withdraw_others(pending);
    if (!changed && !withdrawn) return;
    if (content_) {
        advertiser_.start(loop_.now());
    } else {
        advertiser_.stop();
    }
    tick();
}

/// Returns whether any was withdrawn now.
bool RouterAdvertisements::withdraw_others(const std::vector<wire::Ipv6Prefix>& pending) {
    const auto& current = content_->prefixes;
    std::erase_if(withdrawn_, [&](const auto& each) { return holds(current, each.prefix.prefix); });
    const auto gone = std::ranges::partition(announced_, [&](const auto& each) {
        return holds(current, each.prefix) || std::ranges::find(pending, each.prefix) != pending.end();
    });
    const bool any = !gone.empty();
    for (auto prefix : gone) {
        prefix.valid = prefix.preferred = 0;
        withdrawn_.push_back({prefix, withdrawals});
    }
    announced_.erase(gone.begin(), gone.end());
    for (const auto& prefix : current)
        if (!holds(announced_, prefix.prefix)) announced_.push_back(prefix);
    return any;
}

void RouterAdvertisements::received(neighbour::Solicitation solicitation) {
    if (solicitation != neighbour::Solicitation::valid) return counters_.nd_rx_dropped_router_solicitations.add();
    if (!content_) return counters_.nd_rx_dropped_not_advertising.add();
    counters_.nd_rx_router_solicitations.add();
    advertiser_.solicited(loop_.now());
    schedule();
}

void RouterAdvertisements::retire() {
    const auto last = std::exchange(content_, std::nullopt);
    advertiser_.stop();
    schedule();
    if (!last) return;
    auto final = *last;
    final.lifetime = 0;
    send(std::move(final));
}

void RouterAdvertisements::tick() {
    if (advertiser_.due(loop_.now())) send(*content_);
    schedule();
}

void RouterAdvertisements::send(neighbour::Advertisement advertisement) {
    for (auto& each : withdrawn_) {
        advertisement.prefixes.push_back(each.prefix);
        --each.left;
    }
    std::erase_if(withdrawn_, [](const auto& each) { return each.left == 0; });
    counters_.nd_tx_router_advertisements.add();
    send_(neighbour::write_advertisement(advertisement));
}

void RouterAdvertisements::schedule() {
    const auto deadline = advertiser_.deadline();
    timer_ = deadline ? loop_.at(*deadline, [this] { tick(); }) : control::Timer();
}

}  // namespace verbline::router
