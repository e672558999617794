// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/packet.h"

#include <rte_mbuf.h>

namespace verbline::transport {

wire::Bytes Packet::frame() const {
    return {rte_pktmbuf_mtod(mbuf, const std::byte*), mbuf->data_len};
}

wire::Qpn destination_of(const Packet& packet) noexcept {
    return wire::Qpn{wire::load24(packet.frame(), packet.arrival.bth_at + 5)};
}

std::optional<PacketFault> parse(Packet& packet) noexcept {
    const auto frame = packet.frame();
    const auto& arrival = packet.arrival;
    const auto bth = frame.subspan(arrival.bth_at);
    const auto words = wire::load32(bth, 0);
    packet.opcode = static_cast<std::uint8_t>(words >> 24);
    packet.traits = &opcode_table[packet.opcode];
    if (packet.traits->operation == Operation::none) return PacketFault::opcode;
    packet.solicited = (words >> 23 & 1) != 0;
    packet.pkey = static_cast<wire::PKey>(words & 0xffff);
    const auto destination = wire::load32(bth, 4);
    packet.becn = (destination >> 30 & 1) != 0;
    packet.destination = static_cast<wire::Qpn>(destination & 0xff'ffff);
    const auto sequence = wire::load32(bth, 8);
    packet.ack_request = sequence >> 31 != 0;
    packet.psn = wire::Psn(sequence);

    const std::size_t pad = words >> 20 & 3;
    const std::size_t begin = arrival.bth_at + wire::Bth::size, through = arrival.end;
    if (begin + packet.traits->headers + pad > through) return PacketFault::length;
    packet.headers = frame.subspan(begin, packet.traits->headers);
    packet.payload = frame.subspan(begin + packet.traits->headers, through - pad - begin - packet.traits->headers);
    return std::nullopt;
}

}  // namespace verbline::transport
