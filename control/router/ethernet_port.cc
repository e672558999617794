// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/ethernet_port.h"

#include <fstream>
#include <functional>
#include <string>

#include "datapath/link/ethernet_interface.h"

namespace verbline::router {

EthernetPort::EthernetPort(control::Loop& loop, ShardLink& shard, const Setup& setup, wire::MacAddress mac)
    : ControlPort(loop, shard, setup, mac), mac_(mac) {}

void EthernetPort::carrier_changed() {
    if (carrier()) {
        // Refused, the device receives everything and the link layer filters.
        (void)device().set_identity({.mac = mac_});
        shard().send(SetEthernet{id(), mac_});
        link_is_up(mac_);
    } else {
        link_is_down();
        shard().send(SetEthernet{id(), std::nullopt});
    }
}

void EthernetPort::locate(const neighbour::LinkAddress& hardware, wire::EtherType type, Located located) {
    located(link::ethernet_destination(mac_, std::get<wire::MacAddress>(hardware), type));
}

std::optional<link::Destination> EthernetPort::broadcast(wire::EtherType type) const {
    return link::ethernet_destination(mac_, wire::broadcast_mac, type);
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
