// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/node/member_port.h"

#include "datapath/link/part.h"
#include "datapath/link/transport_header.h"
#include "datapath/wire/deth.h"
#include "pmd/bridge/frame.h"

namespace verbline::node {
namespace {

using wire::Bth, wire::Deth;

constexpr wire::Qpn smi_qpn{0};  ///< subnet management: the node's alone (IBTA volume 1, 3.9.2)

/// SEND only, without and with immediate data: all that UD has (IBTA volume 1, 9.2.1).
constexpr bool is_datagram(std::uint8_t opcode) {
    return opcode == 0x64 || opcode == 0x65;
}

}  // namespace

Result<std::unique_ptr<MemberPort>> MemberPort::create(std::unique_ptr<pmd::NetDevice> inner, GsiQueue& gsi,
                                                       link::MemberId member, const wire::MacAddress& port) {
    auto ring = make_ring(gsi, member);
    if (!ring) return std::unexpected(ring.error());
    return std::unique_ptr<MemberPort>(new MemberPort(std::move(inner), gsi, member, std::move(*ring), port));
}

MemberPort::MemberPort(std::unique_ptr<pmd::NetDevice> inner, GsiQueue& gsi, link::MemberId member,
                       pmd::HandoverRing injected, const wire::MacAddress& port)
    : NodePort(std::move(inner), gsi, member, std::move(injected)),
      own_(link::mac_of(member)),
      port_(pmd::mac_number(port)) {}

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
    const auto to = link::transport_header(bytes, *bth_at).get<&Bth::dest>();
    if (to == wire::gsi_qpn) return Verdict::gsi;
    if (pmd::source_mac(frame) == port_) set_source(frame, own_);  // else the switch objects, unless it is `own_`
    if (pmd::destination_mac(frame) == port_) set_destination(frame, link::mac_of(link::member_of(to)));
    return Verdict::pass;
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
