// SPDX-License-Identifier: BSD-3-Clause
// Frames of the soft fabric. Random bytes never have the right CRCs, so each input is also tried with them put right:
// what a hostile neighbour on the link can send.
#include <cstdlib>
#include <vector>

#include "datapath/link/soft_ib.h"
#include "datapath/transport/ud.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ib_packet.h"
#include "datapath/wire/lrh.h"

using namespace verbline;

namespace {

void check(wire::Bytes frame) {
    const auto packet = link::soft_ib::parse(frame);
    if (!packet) return;
    if (std::size_t{packet->payload_offset} + packet->payload_size > frame.size()) std::abort();
    transport::UdQueuePair qp({.lid = wire::Lid{3}, .qpn = wire::Qpn{0x48}, .qkey = wire::QKey{0xb1b}});
    qp.attach(wire::first_multicast_lid);
    if (qp.admit(*packet) && packet->qkey != wire::QKey{0xb1b}) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    check(bytes);

    std::vector frame(bytes.begin(), bytes.end());
    if (frame.size() < wire::Ethernet::size + wire::Lrh::size) return 0;
    wire::store16(frame, 12, static_cast<unsigned>(wire::ether_type::soft_ib));
    const auto packet = wire::MutableBytes(frame).subspan(wire::Ethernet::size);
    const auto lrh = wire::Lrh::parse(packet);
    if (lrh && lrh->packet_size() + 2 <= packet.size()) wire::seal(packet.first(lrh->packet_size() + 2));
    check(frame);
    return 0;
}
