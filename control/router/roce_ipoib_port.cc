// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/roce_ipoib_port.h"

#include "datapath/link/gid_table.h"
#include "datapath/wire/ipoib.h"

namespace verbline::router {
namespace {

constexpr auto carrier_of_link = link::Carrier::roce_v2_ipv6;

constexpr wire::QKey broadcast_qkey{0x0b1b};

pmd::MulticastAddress broadcast_group(wire::PKey pkey) {
    const auto mgid = wire::ipoib_broadcast_mgid(pkey);
    return {.mac = link::multicast_mac(carrier_of_link, mgid), .mgid = mgid};
}

}  // namespace

RoceIpoibPort::RoceIpoibPort(control::Loop& loop, ShardLinks& shards, const Setup& setup, wire::MacAddress mac,
                             wire::Qpn qpn, wire::PKey pkey)
    : ControlPort(loop, shards, setup, wire::IpoibAddress{}),
      identity_{.port = {.carrier = carrier_of_link, .mac = mac, .gid = link::link_local_gid(mac)},
                .qpn = qpn,
                .pkey = pkey,
                .qkey = broadcast_qkey},
      group_(broadcast_group(pkey)) {
    follow_device();
}

/// An adapter has its own queue pair and GID, which are others when it has been away.
void RoceIpoibPort::follow_device() {
    const auto end = device().datagram_end();
    if (!end) return;
    identity_.qpn = end->qpn;
    identity_.port.gid = end->gid;
    identity_.port.mac = link::mac_of_link_local(end->gid).value_or(wire::MacAddress{});
}

void RoceIpoibPort::carrier_changed() {
    if (carrier()) {
        follow_device();
        // Refused, the device receives everything and the shard filters.
        (void)device().set_identity(
            {.mac = identity_.port.mac, .pkey = identity_.pkey, .qpn = identity_.qpn, .qkey = identity_.qkey});
        (void)device().attach_multicast(group_);
        shards().send(SetIpoib{id(), identity_});
        shards().send(AttachGroup{id(), group_});
        link_is_up(wire::IpoibAddress{.qpn = identity_.qpn, .gid = identity_.port.gid});
    } else {
        link_is_down();
        shards().send(SetIpoib{id(), std::nullopt});
    }
}

void RoceIpoibPort::locate(const neighbour::LinkAddress& hardware, wire::EtherType type, Located located) {
    const auto& address = std::get<wire::IpoibAddress>(hardware);
    const auto mac = link::mac_of_link_local(address.gid);
    if (!mac) return roce_counters_.neighbours_unreachable.add();
    located(ipoib::destination(identity_, {.global = true, .dgid = address.gid}, address.qpn, type, *mac));
}

std::optional<link::Destination> RoceIpoibPort::broadcast(wire::EtherType type) const {
    return ipoib::destination(identity_, {.global = true, .dgid = group_.mgid}, wire::multicast_qpn, type);
}

void RoceIpoibPort::counters(const CounterVisitor& visit) const {
    ControlPort::counters(visit);
    roce_counters_.each(visit);
}

}  // namespace verbline::router
