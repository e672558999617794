// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/ethernet_port.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include "datapath/link/ethernet_interface.h"

namespace verbline::router {

EthernetPort::EthernetPort(control::Loop& loop, ShardLinks& shards, const Setup& setup, wire::MacAddress mac)
    : ControlPort(loop, shards, setup, mac), mac_(mac) {}

void EthernetPort::carrier_changed() {
    if (carrier()) {
        // Refused, the device receives everything and the link layer filters.
        (void)device().set_identity({.mac = mac_});
        shards().send(SetEthernet{id(), mac_});
        link_is_up(mac_);
    } else {
        link_is_down();
        shards().send(SetEthernet{id(), std::nullopt});
    }
}

/// Refused, the device receives all groups.
void EthernetPort::listen(const std::vector<wire::Gid>& groups) {
    std::vector<wire::MacAddress> wanted;
    for (const auto& group : groups) wanted.push_back(link::multicast_mac(link::Carrier::roce_v2_ipv6, group));
    const auto in = [](const std::vector<wire::MacAddress>& list, const wire::MacAddress& mac) {
        return std::ranges::find(list, mac) != list.end();
    };
    for (const auto& mac : groups_) {
        if (!in(wanted, mac)) (void)device().detach_multicast({.mac = mac});
    }
    for (const auto& mac : wanted) {
        if (!in(groups_, mac)) (void)device().attach_multicast({.mac = mac});
    }
    groups_ = std::move(wanted);
}

void EthernetPort::locate(const neighbour::LinkAddress& hardware, wire::EtherType type, Located located) {
    located(link::ethernet_destination(mac_, std::get<wire::MacAddress>(hardware), type));
}

std::optional<link::Destination> EthernetPort::broadcast(wire::EtherType type) const {
    return link::ethernet_destination(mac_, wire::broadcast_mac, type);
}

std::optional<link::Destination> EthernetPort::multicast(const wire::Ipv6Address& group) const {
    auto to = link::ethernet_destination(mac_, wire::broadcast_mac, wire::ether_type::ipv6);
    link::set_ethernet_group(to, group);
    return to;
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
