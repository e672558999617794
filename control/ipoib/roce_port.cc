// SPDX-License-Identifier: BSD-3-Clause
#include "control/ipoib/roce_port.h"

#include <utility>

#include "datapath/link/gid_table.h"
#include "datapath/wire/ipoib.h"

namespace verbline::ipoib {
namespace {

constexpr auto carrier_of_link = link::Carrier::roce_v2_ipv6;

constexpr wire::QKey broadcast_qkey{0x0b1b};

pmd::MulticastAddress group_of_partition(wire::PKey pkey) {
    const auto mgid = wire::ipoib_broadcast_mgid(pkey);
    return {.mac = link::multicast_mac(carrier_of_link, mgid), .mgid = mgid};
}

}  // namespace

RocePort::RocePort(Setup setup)
    : setup_(std::move(setup)),
      identity_{.port = {.carrier = carrier_of_link, .mac = setup_.mac, .gid = link::link_local_gid(setup_.mac)},
                .qpn = setup_.qpn,
                .pkey = setup_.pkey,
                .qkey = broadcast_qkey},
      group_(group_of_partition(setup_.pkey)) {
    follow_device();
}

/// An adapter has its own queue pair and GID, which are others when it has been away.
void RocePort::follow_device() {
    const auto end = setup_.device->datagram_end();
    if (!end) return;
    identity_.qpn = end->qpn;
    identity_.port.gid = end->gid;
    identity_.port.mac = link::mac_of_link_local(end->gid).value_or(wire::MacAddress{});
}

void RocePort::carrier_changed(bool carrier) {
    up_ = carrier;
    if (!carrier) {
        setup_.down();
        setup_.identify(std::nullopt);
        return;
    }
    follow_device();
    // Refused, the device receives everything and the link layer filters.
    (void)setup_.device->set_identity(
        {.mac = identity_.port.mac, .pkey = identity_.pkey, .qpn = identity_.qpn, .qkey = identity_.qkey});
    (void)setup_.device->attach_multicast(group_);
    setup_.identify(identity_);
    setup_.attach(group_);
    setup_.up();
}

std::optional<link::Destination> RocePort::locate(const wire::IpoibAddress& neighbour, wire::EtherType type) {
    const auto mac = link::mac_of_link_local(neighbour.gid);
    if (!mac) return counters_.neighbours_unreachable.add(), std::nullopt;
    return destination(identity_, {.global = true, .dgid = neighbour.gid}, neighbour.qpn, type, *mac);
}

link::Destination RocePort::broadcast(wire::EtherType type) const {
    return destination(identity_, {.global = true, .dgid = group_.mgid}, wire::multicast_qpn, type);
}

}  // namespace verbline::ipoib
