// SPDX-License-Identifier: BSD-3-Clause
// Frames of the soft fabric. Random bytes never have the right CRCs, so each input is also tried with them put right:
// what a hostile neighbour on the link can send.
#include <cstdlib>
#include <vector>

#include <rte_mbuf.h>

#include "datapath/link/arrival.h"
#include "datapath/transport/packet.h"
#include "datapath/transport/ud.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ib_packet.h"
#include "datapath/wire/lrh.h"

using namespace verbline;

namespace {

void check(wire::MutableBytes frame) {
    rte_mbuf mbuf{};
    mbuf.buf_addr = frame.data();
    mbuf.data_len = static_cast<std::uint16_t>(frame.size());
    transport::Packet packet{.mbuf = &mbuf};
    if (frame.size() > 0xffff || link::open_headers(frame, link::Carrier::soft_ib, packet.arrival)) return;
    if (link::verify(frame, packet.arrival) || transport::parse(packet)) return;
    if (packet.payload.data() + packet.payload.size() > frame.data() + frame.size()) std::abort();
    transport::UdQueuePair qp({.port = {.carrier = link::Carrier::soft_ib, .lid = wire::Lid{3}},
                               .qpn = wire::Qpn{0x48},
                               .qkey = wire::QKey{0xb1b}});
    qp.attach({.mlid = wire::first_multicast_lid});
    if (!qp.discard(packet) && deth_of(packet).get<&wire::Deth::qkey>() != wire::QKey{0xb1b}) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    std::vector frame(bytes.begin(), bytes.end());
    check(frame);
    if (frame.size() < wire::Ethernet::size + wire::Lrh::size) return 0;
    wire::store16(frame, 12, static_cast<unsigned>(wire::ether_type::soft_ib));
    const auto packet = wire::MutableBytes(frame).subspan(wire::Ethernet::size);
    const auto lrh = wire::Lrh::parse(packet);
    if (lrh && lrh->packet_size() + 2 <= packet.size()) wire::seal(packet.first(lrh->packet_size() + 2));
    check(frame);
    return 0;
}
