// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/node/wire_port.h"

#include <tuple>

#include "datapath/link/transport_header.h"
#include "datapath/wire/deth.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipoib.h"
#include "pmd/bridge/frame.h"

namespace verbline::node {
namespace {

/// Of IPoIB's ARP and ND, from their group: IPv4's broadcast group, and every group of IPv6 (RFC 4391, 4). Members may
/// be in these groups as well.
bool is_address_resolution(wire::Bytes frame, std::size_t bth_at) noexcept {
    constexpr std::size_t group_size = 16, type_at = 12;
    if (wire::EtherType{wire::load16(frame, type_at)} != wire::ether_type::soft_ib) return false;
    const auto group = frame.subspan(bth_at - group_size, group_size);  // the last field of the GRH
    const auto signature = wire::load16(group, 2);
    if (signature == wire::ipoib_ipv6_signature) return true;
    return signature == wire::ipoib_ipv4_signature && wire::load32(group, 12) == 0xffff'ffff;
}

}  // namespace

Result<std::unique_ptr<WirePort>> WirePort::create(std::unique_ptr<pmd::NetDevice> inner, NodeParts parts,
                                                   const wire::MacAddress& port, unsigned queue) {
    auto rings = make_rings(parts, link::node_itself, queue);
    if (!rings) return std::unexpected(rings.error());
    return std::unique_ptr<WirePort>(new WirePort(std::move(inner), parts, std::move(*rings), port));
}

WirePort::WirePort(std::unique_ptr<pmd::NetDevice> inner, NodeParts parts, Rings rings, const wire::MacAddress& port)
    : NodePort(std::move(inner), parts, link::node_itself, std::move(rings), port) {}

NodePort::Verdict WirePort::classify(rte_mbuf& frame) noexcept {
    const auto destination = pmd::destination_mac(frame);
    const auto bytes = bytes_of(frame);
    const auto bth_at =
        pmd::is_group(destination) || destination == port() ? link::transport_header_at(bytes) : std::nullopt;
    if (!bth_at) {
        counted().rx_ignored.add();
        return Verdict::drop;
    }
    if (pmd::is_group(destination)) {
        return is_address_resolution(bytes, *bth_at) ? Verdict::pass_and_gsi : Verdict::pass;
    }
    const auto to = link::transport_header(bytes, *bth_at).get<&wire::Bth::dest>();
    if (to == wire::gsi_qpn || to == link::node_ipoib_qpn) return Verdict::gsi;
    if (link::is_shared_target(to)) {
        std::ignore = shared_targets().route(frame, link::node_itself);  // nothing of the wire's goes back there
        return Verdict::taken;
    }
    set_destination(frame, link::mac_of(link::member_of(to)));
    return Verdict::pass;
}

std::uint16_t WirePort::tx_burst(std::uint16_t queue, pmd::Burst burst) noexcept {
    const auto mac = pmd::mac_of(port());
    for (auto* const frame : burst) set_source(*frame, mac);
    return inner().tx_burst(queue, burst);
}

}  // namespace verbline::node
