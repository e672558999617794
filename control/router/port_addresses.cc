// SPDX-License-Identifier: BSD-3-Clause
// A port's own addresses: which of them are its, what hosts are told of them, and other hosts that have them.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "control/router/port.h"
#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/discovery.h"

namespace verbline::router {

void ControlPort::set_addresses(const std::vector<link::InterfaceAddress>& addresses,
                                const std::vector<wire::Gid>& certain) {
    if (addresses == addresses_) return;
    forget_conflicts(addresses);
    addresses_ = addresses;
    auto groups = neighbour::groups_of(addresses);
    groups.push_back(link::gid_of(neighbour::all_systems));
    if (setup_.forwards) {
        for (const auto& group : {neighbour::all_ipv4_routers, neighbour::all_igmp_routers})
            groups.push_back(link::gid_of(group));
        for (const auto& group : {neighbour::all_ipv6_routers, neighbour::all_mld_routers})
            groups.push_back(link::gid_of(group));
    }
    listen(groups);
    play(engine_.set_addresses(addresses, loop_.now(), certain));
    announce();
    if (listener_ != nullptr) listener_->addresses_changed(id(), addresses_);
}

/// The sources of ICMP errors, if they have changed: addresses that may be used.
void ControlPort::publish_sources() {
    SetAddress sources{.port = id()};
    for (const auto& [gid, length, pkey] : addresses_) {
        if (!engine_.addresses().answers_for(gid)) continue;
        const auto ipv4 = link::ipv4_of(gid);
        const auto ipv6 = link::ipv6_of(gid);
        auto& source = wire::is_link_local(ipv6) ? sources.link_local : sources.ipv6;
        if (ipv4 && sources.address == wire::Ipv4Address{}) sources.address = *ipv4;
        if (!ipv4 && source == wire::Ipv6Address{}) source = ipv6;
    }
    if (std::exchange(sources_, sources) == sources) return;
    shards_.send(sources);
    listeners_.set_addresses(sources.address, sources.link_local);
}

void ControlPort::make_advertisements() {
    if (advertisements_) return;
    advertisements_.emplace(
        loop_, [this](std::vector<std::byte> packet) { send_to_group(neighbour::all_nodes, std::move(packet)); });
}

/// What hosts are told: our link-local address, and the networks of the others that are ours (RFC 4861, 6.2.3).
void ControlPort::advertise() {
    if (!setup_.advertises) return;
    const auto source = sources_.link_local;
    if (!up_ || source == wire::Ipv6Address{}) return advertisements_->set(std::nullopt);
    // On IPoIB without it: the kernel of a host whose interface has no link-layer address, as a tun, ignores what
    // follows an option that does not fit its interface.
    const bool says_address = std::holds_alternative<wire::MacAddress>(engine_.link());
    neighbour::Advertisement content{
        .source = source, .at = says_address ? std::optional(engine_.link()) : std::nullopt, .mtu = setup_.mtu};
    std::vector<wire::Ipv6Prefix> pending;
    for (const auto& [gid, length, pkey] : addresses_) {
        const auto address = link::ipv6_of(gid);
        if (link::ipv4_of(gid) || wire::is_link_local(address) || length == 128) continue;
        const neighbour::AdvertisedPrefix prefix{.prefix = {wire::Ipv6Prefix{address, length}.network(), length},
                                                 .autonomous = length == 64};
        if (!engine_.addresses().answers_for(gid)) {
            pending.push_back(prefix.prefix);
            continue;
        }
        auto& prefixes = content.prefixes;
        if (std::ranges::find(prefixes, prefix) == prefixes.end()) prefixes.push_back(prefix);
    }
    advertisements_->set(content, pending);
}

void ControlPort::set_virtual_addresses(const std::vector<wire::Gid>& addresses) {
    engine_.set_virtual_addresses(addresses, loop_.now());
    std::erase_if(yielded_,
                  [&](const auto& entry) { return std::ranges::find(addresses, entry.first) == addresses.end(); });
    play({});
}

void ControlPort::set_advertises(bool advertises) {
    if (std::exchange(setup_.advertises, advertises) == advertises) return;
    shards_.send(SetAdvertises{id(), advertises});
    if (!advertises) return advertisements_->retire();
    make_advertisements();
    advertise();
}

void ControlPort::retire() {
    if (advertisements_) advertisements_->retire();
}

/// Those of addresses that come back, which are probed for again, and of those that went without being lost.
void ControlPort::forget_conflicts(const std::vector<link::InterfaceAddress>& next) {
    const auto in = [](const std::vector<link::InterfaceAddress>& list, const wire::Gid& gid) {
        return std::ranges::find(list, gid, &link::InterfaceAddress::gid) != list.end();
    };
    std::erase_if(conflicts_, [&](const auto& entry) {
        const auto& [address, conflict] = entry;
        return in(next, address) ? !in(addresses_, address) : !conflict.lost;
    });
    std::erase_if(yielded_, [&](const auto& entry) { return !in(next, entry.first); });
}

void ControlPort::run(const neighbour::Conflict& action) {
    conflicts_.insert_or_assign(action.address, action);
    on_conflict_(action);
}

void ControlPort::run(const neighbour::Yielded& action) {
    if (action.back) {
        yielded_.erase(action.address);
    } else {
        yielded_.insert_or_assign(action.address, action.to);
    }
    on_yielded_(action);
}

std::string ControlPort::conflicts() const {
    std::string text;
    for (const auto& [address, conflict] : conflicts_) {
        text += fmt::format("{}{} is {} ({})", text.empty() ? "" : "; ", link::address_text(address),
                            conflict.lost ? "another host's" : "another host's, too",
                            conflict.at ? neighbour::to_string(*conflict.at) : "which probes for it");
    }
    for (const auto& [address, to] : yielded_) {
        text += fmt::format("{}{} is left to {}", text.empty() ? "" : "; ", link::address_text(address),
                            to ? neighbour::to_string(*to) : "another host");
    }
    return text;
}

}  // namespace verbline::router
