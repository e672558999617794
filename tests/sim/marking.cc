// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/marking.h"

#include <span>

#include <rte_mbuf.h>

#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"

namespace verbline::sim {
namespace {

template <class Ip>
bool mark(wire::MutableBytes packet) {
    const auto ip = wire::View<Ip, std::byte>::over(packet);
    if (!ip) return false;
    const auto ecn = ip->template get<&Ip::ecn>();
    if (ecn == wire::Ecn::not_capable) return false;
    const auto before = wire::load16(packet, 0);
    ip->template set<&Ip::ecn>(wire::Ecn::congestion_experienced);
    if constexpr (requires { &Ip::checksum; }) {
        const auto checksum = ip->template get<&Ip::checksum>();
        ip->template set<&Ip::checksum>(wire::updated_checksum(checksum, before, wire::load16(packet, 0)));
    }
    return true;
}

}  // namespace

bool mark_congestion(rte_mbuf& frame) {
    wire::MutableBytes bytes(rte_pktmbuf_mtod(&frame, std::byte*), frame.data_len);
    const auto ethernet = wire::Ethernet::parse(bytes);
    if (!ethernet) return false;
    auto type = ethernet->type;
    bytes = bytes.subspan(wire::Ethernet::size);
    if (type == wire::ether_type::vlan) {
        const auto tag = wire::Vlan::parse(bytes);
        if (!tag) return false;
        type = tag->type;
        bytes = bytes.subspan(wire::Vlan::size);
    }
    if (type == wire::ether_type::ipv4) return mark<wire::Ipv4>(bytes);
    if (type == wire::ether_type::ipv6) return mark<wire::Ipv6>(bytes);
    return false;
}

}  // namespace verbline::sim
