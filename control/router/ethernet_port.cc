// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/ethernet_port.h"

#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include "datapath/link/ethernet_interface.h"
#include "datapath/link/ip_gid.h"

namespace verbline::router {
namespace {

wire::MacAddress mac_of(const wire::Gid& group) {
    return link::multicast_mac(link::ipv4_of(group) ? link::Carrier::roce_v2_ipv4 : link::Carrier::roce_v2_ipv6, group);
}

}  // namespace

EthernetPort::EthernetPort(control::Loop& loop, ShardLinks& shards, const Setup& setup, wire::MacAddress mac)
    : ControlPort(loop, shards, setup, mac), mac_(mac), queries_(setup.multicast) {}

void EthernetPort::carrier_changed() {
    if (carrier()) {
        // Refused, the device receives everything and the link layer filters.
        (void)device().set_identity({.mac = mac_});
        if (queries_) (void)device().receive_all_multicast(true);
        shards().send(SetEthernet{id(), mac_});
        link_is_up(mac_);
    } else {
        link_is_down();
        shards().send(SetEthernet{id(), std::nullopt});
    }
}

void EthernetPort::set_multicast(bool routed) {
    if (std::exchange(queries_, routed) != routed && carrier()) (void)device().receive_all_multicast(routed);
    ControlPort::set_multicast(routed);
}

void EthernetPort::listen(const std::vector<wire::Gid>& groups) {
    listened_ = groups;
    attach();
}

void EthernetPort::hear_group(const wire::Gid& group, bool wanted) {
    const bool changed = wanted ? heard_.insert(group).second : heard_.erase(group) != 0;
    if (changed) attach();
}

/// Several groups may have one address. Refused, the device receives all groups.
void EthernetPort::attach() {
    std::set<wire::MacAddress> wanted;
    for (const auto& group : listened_) wanted.insert(mac_of(group));
    for (const auto& group : heard_) wanted.insert(mac_of(group));
    for (const auto& mac : attached_)
        if (!wanted.contains(mac)) (void)device().detach_multicast({.mac = mac});
    for (const auto& mac : wanted)
        if (!attached_.contains(mac)) (void)device().attach_multicast({.mac = mac});
    attached_ = std::move(wanted);
}

void EthernetPort::locate(const neighbour::LinkAddress& hardware, wire::EtherType type, Located located) {
    located(link::ethernet_destination(mac_, std::get<wire::MacAddress>(hardware), type));
}

std::optional<link::Destination> EthernetPort::broadcast(wire::EtherType type) const {
    return link::ethernet_destination(mac_, wire::broadcast_mac, type);
}

std::optional<link::Destination> EthernetPort::multicast(const wire::Gid& group) const {
    const auto type = link::ipv4_of(group) ? wire::ether_type::ipv4 : wire::ether_type::ipv6;
    return link::ethernet_destination(mac_, mac_of(group), type);
}

wire::MacAddress derived_mac(std::string_view instance, std::string_view port) {
    std::string machine;
    std::getline(std::ifstream("/etc/machine-id"), machine);
    auto hash = std::hash<std::string>{}(machine + '/' + std::string(instance) + '/' + std::string(port));
    wire::MacAddress mac;
    for (auto& byte : mac.bytes) byte = static_cast<std::byte>(hash), hash >>= 8;
    mac.bytes[0] = (mac.bytes[0] & std::byte{0xfc}) | std::byte{2};  // unicast, locally administered (IEEE 802, 8.4)
    return mac;
}

}  // namespace verbline::router
