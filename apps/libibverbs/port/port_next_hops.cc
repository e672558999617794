// SPDX-License-Identifier: BSD-3-Clause
// The Ethernet addresses of next hops: of whom they are asked.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "apps/libibverbs/port/port.h"
#include "control/host/kernel_neighbour.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"
#include "pmd/base/clock.h"

namespace verbline::verbs {

Result<wire::MacAddress> VerbsPort::resolve(unsigned gid_index, const wire::Gid& to) {
    const auto from = device_->gids().at(gid_index);
    if (!from) return failure(EINVAL, fmt::format("GID index {} is empty", gid_index));
    if (const auto known = known_hop(*from, to)) return *known;
    if (link_.neighbours != nullptr) return ask_neighbours(to);
    return query_next_hop(from->gid, to, host::NextHops::resolution_timeout);
}

/// Addresses that need no query.
std::optional<wire::MacAddress> VerbsPort::known_hop(const link::GidEntry& from, const wire::Gid& to) const {
    if (link::is_group(to)) return ethernet_address_of_group(to);
    if (device_->gids().find(to, from.type, from.vlan)) return link_.mac;  // ourselves
    return link::mac_of_link_local(to);
}

std::optional<wire::MacAddress> VerbsPort::next_hop(unsigned gid_index, const wire::Gid& to) {
    if (infiniband()) return wire::MacAddress{};
    const auto from = device_->gids().at(gid_index);
    if (!from) return std::nullopt;
    if (const auto known = known_hop(*from, to)) return known;
    return next_hops_.find(from->gid, to);
}

void VerbsPort::ask_next_hop(unsigned gid_index, const wire::Gid& to) {
    const auto from = device_->gids().at(gid_index);
    if (infiniband() || !from) return;
    next_hops_.resolve(from->gid, to);
    if (link_.neighbours != nullptr) progress_->posted();
}

bool VerbsPort::resolving_next_hop(unsigned gid_index, const wire::Gid& to) {
    const auto from = device_->gids().at(gid_index);
    return !infiniband() && from.has_value() && next_hops_.resolving(from->gid, to);
}

Result<wire::MacAddress> VerbsPort::ask_neighbours(const wire::Gid& to) {
    if (const auto mac = link_.neighbours->find(to)) return *mac;
    link_.neighbours->resolve(to);
    for (const auto until = monotonic_now() + host::NextHops::resolution_timeout; monotonic_now() < until;) {
        if (!progress_->drive()) progress_->idle();
        const bool resolving = link_.neighbours->resolving(to);  // first: the answer may come in between
        if (const auto mac = link_.neighbours->find(to)) return *mac;
        if (!resolving) break;
    }
    return failure(EHOSTUNREACH,
                   fmt::format("{}: no host on {} answers for {}", name(), link_.text, wire::to_string(to)));
}

Result<wire::MacAddress> VerbsPort::query_next_hop(const wire::Gid& from, const wire::Gid& to, Time timeout) {
    if (link_.lane.member) return ask_node(from, to, timeout);
    return host::resolve_kernel_neighbour(link_.ifindex, from, to, timeout);
}

/// The node resolves, and does not keep its answer from others meanwhile: it is asked until it has one.
Result<wire::MacAddress> VerbsPort::ask_node(const wire::Gid& from, const wire::Gid& to, Time timeout) {
    constexpr std::chrono::microseconds first_pause{200}, longest_pause{5000};
    const auto until = monotonic_now() + timeout;
    for (auto pause = first_pause;; pause = std::min(pause * 2, longest_pause)) {
        {
            const std::scoped_lock lock(hub_mutex_);
            auto mac = hub::resolve(link_.lane, from, to);
            if (mac || mac.error().code != EINPROGRESS) return mac;
        }
        if (monotonic_now() >= until) return failure(ETIMEDOUT, "the node has no next hop yet");
        std::this_thread::sleep_for(pause);
    }
}

}  // namespace verbline::verbs
