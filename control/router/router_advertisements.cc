// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/router_advertisements.h"

#include <random>
#include <utility>

namespace verbline::router {

RouterAdvertisements::RouterAdvertisements(control::Loop& loop, Send send)
    : loop_(loop), send_(std::move(send)), advertiser_(std::random_device{}()) {}

void RouterAdvertisements::set(const std::optional<neighbour::Advertisement>& content) {
    if (content == content_) return;
    content_ = content;
    if (content_) {
        advertiser_.start(loop_.now());
    } else {
        advertiser_.stop();
    }
    tick();
}

void RouterAdvertisements::received(neighbour::Solicitation solicitation) {
    if (solicitation != neighbour::Solicitation::valid || !content_) {
        return counters_.nd_rx_dropped_router_solicitations.add();
    }
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
    send(final);
}

void RouterAdvertisements::tick() {
    if (advertiser_.due(loop_.now())) send(*content_);
    schedule();
}

void RouterAdvertisements::send(const neighbour::Advertisement& advertisement) {
    counters_.nd_tx_router_advertisements.add();
    send_(neighbour::write_advertisement(advertisement));
}

void RouterAdvertisements::schedule() {
    const auto deadline = advertiser_.deadline();
    timer_ = deadline ? loop_.at(*deadline, [this] { tick(); }) : control::Timer();
}

}  // namespace verbline::router
