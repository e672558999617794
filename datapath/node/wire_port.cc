// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/node/wire_port.h"

#include "datapath/link/transport_header.h"
#include "datapath/wire/deth.h"
#include "pmd/bridge/frame.h"

namespace verbline::node {

Result<std::unique_ptr<WirePort>> WirePort::create(std::unique_ptr<pmd::NetDevice> inner, GsiQueue& gsi,
                                                   const wire::MacAddress& port) {
    auto ring = make_ring(gsi, link::node_itself);
    if (!ring) return std::unexpected(ring.error());
    return std::unique_ptr<WirePort>(new WirePort(std::move(inner), gsi, std::move(*ring), port));
}

WirePort::WirePort(std::unique_ptr<pmd::NetDevice> inner, GsiQueue& gsi, pmd::HandoverRing injected,
                   const wire::MacAddress& port)
    : NodePort(std::move(inner), gsi, link::node_itself, std::move(injected)),
      port_(port),
      port_number_(pmd::mac_number(port)) {}

NodePort::Verdict WirePort::classify(rte_mbuf& frame) noexcept {
    const auto destination = pmd::destination_mac(frame);
    const auto bytes = bytes_of(frame);
    const auto bth_at =
        pmd::is_group(destination) || destination == port_number_ ? link::transport_header_at(bytes) : std::nullopt;
    if (!bth_at) {
        counted().rx_ignored.add();
        return Verdict::drop;
    }
    if (pmd::is_group(destination)) return Verdict::pass;
    const auto to = link::transport_header(bytes, *bth_at).get<&wire::Bth::dest>();
    if (to == wire::gsi_qpn) return Verdict::gsi;
    set_destination(frame, link::mac_of(link::member_of(to)));
    return Verdict::pass;
}

std::uint16_t WirePort::tx_burst(std::uint16_t queue, pmd::Burst burst) noexcept {
    for (auto* const frame : burst) set_source(*frame, port_);
    return inner().tx_burst(queue, burst);
}

}  // namespace verbline::node
