// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/roce_link.h"

#include <utility>

#include "datapath/link/gid_table.h"
#include "datapath/link/ip_gid.h"

namespace verbline::net_ipoib {
namespace {

constexpr std::size_t most_located = 512;

wire::EtherType type_of(const wire::Gid& group) {
    return link::ipv4_of(group) ? wire::ether_type::ipv4 : wire::ether_type::ipv6;
}

}  // namespace

RoceLink::RoceLink(const Setup& setup, wire::MacAddress mac)
    : setup_(setup),
      port_({.mac = mac,
             .qpn = setup.qpn,
             .pkey = setup.pkey,
             .device = setup.device,
             .identify = setup.identify,
             .attach = setup.attach,
             .up = [this] { came_up(); },
             .down = setup.down}) {}

void RoceLink::came_up() {
    for (const auto& group : located_) setup_.located(group, port_.broadcast(type_of(group)));
    setup_.up();
}

void RoceLink::find(const wire::IpoibAddress& host, std::function<void(const Way&)> found) {
    const auto ipv4 = port_.locate(host, wire::ether_type::ipv4);
    if (!ipv4) return;
    found({.ipv4 = *ipv4,
           .ipv6 = *port_.locate(host, wire::ether_type::ipv6),
           .sender = {.mac = *link::mac_of_link_local(host.gid), .qpn = host.qpn}});
}

void RoceLink::locate(const wire::IpoibAddress& host, wire::EtherType type,
                      std::function<void(const link::Destination&)> located) {
    if (const auto to = port_.locate(host, type)) located(*to);
}

void RoceLink::send_to_group(const wire::Gid& group, std::vector<std::byte> packet) {
    if (up()) setup_.send(packet, port_.broadcast(type_of(group)));
}

void RoceLink::resolve(const wire::Gid& group) {
    if (!up()) return setup_.unreachable(group);
    if (located_.size() == most_located && !located_.contains(group)) {
        setup_.unreachable(*located_.begin());
        located_.erase(located_.begin());
    }
    located_.insert(group);
    setup_.located(group, port_.broadcast(type_of(group)));
}

}  // namespace verbline::net_ipoib
