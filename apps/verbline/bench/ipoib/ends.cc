// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/ipoib/ends.h"

#include <utility>

#include "datapath/ipoib/interface.h"
#include "datapath/link/ethernet_interface.h"
#include "datapath/link/ip_gid.h"
#include "datapath/traffic/frame_spec.h"

namespace verbline::ipoib_bench {
namespace {

using link::Carrier;

/// The addresses of a benchmark's usual flow.
traffic::FrameSpec usual() {
    return {};
}

wire::MacAddress mac_of(bool receiver) {
    return receiver ? usual().destination_mac.first : usual().source_mac.first;
}

wire::Gid gid_on(Carrier carrier, bool receiver) {
    switch (carrier) {
        case Carrier::roce_v2_ipv4:
            return link::gid_of(receiver ? usual().destination_ipv4.first : usual().source_ipv4.first);
        case Carrier::roce_v2_ipv6:
        case Carrier::roce_v1:
            return link::gid_of(receiver ? usual().destination_ipv6.first : usual().source_ipv6.first);
        case Carrier::soft_ib: return wire::Gid::of(wire::default_subnet_prefix, wire::Guid{receiver ? 2u : 1u});
    }
    std::unreachable();
}

ipoib::Identity identity_on(Carrier carrier, bool receiver) {
    return {.port = {.carrier = carrier,
                     .mac = mac_of(receiver),
                     .gid = gid_on(carrier, receiver),
                     .lid = wire::Lid{static_cast<std::uint16_t>(receiver ? 2 : 1)}},
            .qpn = usual().destination_qpn.first,
            .qkey = traffic::ipoib_qkey};
}

Ends ethernet_ends(pmd::NetDevice& out, pmd::NetDevice& in, rte_mempool& pool) {
    auto sender = std::make_unique<link::EthernetInterface>(out, 0, pool);
    auto receiver = std::make_unique<link::EthernetInterface>(in, 0, pool);
    sender->set_mac(mac_of(false));
    receiver->set_mac(mac_of(true));
    return {.sender = std::move(sender),
            .receiver = std::move(receiver),
            .to_receiver = link::ethernet_destination(mac_of(false), mac_of(true), wire::ether_type::ipv4)};
}

}  // namespace

Ends make_ends(LinkKind kind, pmd::NetDevice& out, pmd::NetDevice& in, rte_mempool& pool) {
    if (!kind) return ethernet_ends(out, in, pool);
    const auto from = identity_on(*kind, false), to = identity_on(*kind, true);
    auto sender = std::make_unique<ipoib::IpoibInterface>(out, 0, pool);
    auto receiver = std::make_unique<ipoib::IpoibInterface>(in, 0, pool);
    sender->set_port(from);
    receiver->set_port(to);
    const wire::AddressHandle address{.dlid = to.port.lid, .global = *kind != Carrier::soft_ib, .dgid = to.port.gid};
    return {.sender = std::move(sender),
            .receiver = std::move(receiver),
            .to_receiver = ipoib::destination(from, address, to.qpn, wire::ether_type::ipv4, to.port.mac)};
}

}  // namespace verbline::ipoib_bench
