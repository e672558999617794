// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/node/member_port.h"

#include "datapath/link/part.h"
#include "datapath/link/transport_header.h"
#include "datapath/transport/opcode.h"
#include "datapath/wire/deth.h"
#include "datapath/wire/ethernet.h"
#include "pmd/bridge/frame.h"

namespace verbline::node {
namespace {

using wire::Bth, wire::Deth;

constexpr wire::Qpn smi_qpn{0};  ///< subnet management: the node's alone (IBTA volume 1, 3.9.2)

/// SEND only, without and with immediate data: all that UD has (IBTA volume 1, 9.2.1).
constexpr bool is_datagram(std::uint8_t opcode) {
    return opcode == 0x64 || opcode == 0x65;
}

/// On the soft fabric a MAC address follows from the LID, and an answer for the peer of a shared target has the peer's:
/// what shows whose it is is that it is one, as no target gets answers.
bool is_answer_on_fabric(wire::Bytes frame, std::size_t bth_at) noexcept {
    if (link::part_at<wire::Ethernet>(frame).get<&wire::Ethernet::type>() != wire::ether_type::soft_ib) return false;
    const auto& traits = transport::opcode_table[link::transport_header(frame, bth_at).get<&Bth::opcode>()];
    return traits.service == transport::Service::xrc && !traits.is_request();
}

}  // namespace

Result<std::unique_ptr<MemberPort>> MemberPort::create(std::unique_ptr<pmd::NetDevice> inner, NodeParts parts,
                                                       link::MemberId member, const wire::MacAddress& port) {
    auto rings = make_rings(parts, member);
    if (!rings) return std::unexpected(rings.error());
    return std::unique_ptr<MemberPort>(new MemberPort(std::move(inner), parts, member, std::move(*rings), port));
}

MemberPort::MemberPort(std::unique_ptr<pmd::NetDevice> inner, NodeParts parts, link::MemberId member, Rings rings,
                       const wire::MacAddress& port)
    : NodePort(std::move(inner), parts, member, std::move(rings), port),
      own_(link::mac_of(member)),
      node_(pmd::mac_number(link::mac_of(link::node_itself))) {}

NodePort::Verdict MemberPort::classify(rte_mbuf& frame) noexcept {
    const auto bytes = bytes_of(frame);
    const auto bth_at = link::transport_header_at(bytes);
    if (!bth_at) {
        counted().rx_dropped_not_rdma.add();
        return Verdict::drop;
    }
    if (foreign(bytes, *bth_at)) {
        counted().rx_dropped_foreign_qpn.add();
        return Verdict::drop;
    }
    auto to = link::transport_header(bytes, *bth_at).get<&Bth::dest>();
    if (to == wire::gsi_qpn) return Verdict::gsi;
    if (link::is_shared_target(to) && (is_for_node(frame) || is_answer_on_fabric(bytes, *bth_at))) {
        if (shared_targets().route(frame, member())) return Verdict::taken;
        to = link::transport_header(bytes_of(frame), *bth_at).get<&Bth::dest>();  // its peer now
    }
    if (pmd::source_mac(frame) == port()) set_source(frame, own_);  // else the switch objects, unless it is `own_`
    if (pmd::destination_mac(frame) == port()) set_destination(frame, link::mac_of(link::member_of(to)));
    return Verdict::pass;
}

/// By the port's address, as from any host, or by the node's own, which members' answers have.
bool MemberPort::is_for_node(const rte_mbuf& frame) const noexcept {
    const auto destination = pmd::destination_mac(frame);
    return destination == port() || destination == node_;
}

bool MemberPort::foreign(wire::Bytes frame, std::size_t bth_at) const noexcept {
    const auto bth = link::transport_header(frame, bth_at);
    const auto to = bth.get<&Bth::dest>();
    if (to == smi_qpn) return true;
    const auto deth_at = bth_at + Bth::size;
    if (!is_datagram(bth.get<&Bth::opcode>())) return to == wire::gsi_qpn;
    if (frame.size() < deth_at + Deth::size) return true;
    const auto from = link::part_at<Deth>(frame, deth_at).get<&Deth::source>();
    if (to == wire::gsi_qpn) return from != wire::gsi_qpn && link::member_of(from) != member();
    return link::member_of(from) != member();
}

}  // namespace verbline::node
