// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Any packet through what a router does to it: check, TTL, ICMP error, fragments. What passes the check is as long as
/// it says, and stays valid whatever is done to it.

#include <array>
#include <span>

#include "datapath/forward/fragment.h"
#include "datapath/forward/icmp_error.h"
#include "datapath/forward/ipv4.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/ipv4.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline {
namespace {

using fuzz::expect;
using wire::Ipv4;

Ipv4 header_of(const rte_mbuf& packet) {
    const auto bytes = offload::first_segment(packet);
    const auto ip = Ipv4::parse(bytes, packet.pkt_len);
    expect(ip.has_value());
    expect(ip->total_length == packet.pkt_len);
    expect(Ipv4::checksum_ok(bytes.first(ip->header_size())));
    return *ip;
}

void answer(const rte_mbuf& packet) {
    auto* const error =
        forward::icmp_error(packet, forward::IcmpError::time_exceeded(), wire::ipv4(10, 0, 0, 1), *fuzz::packet_pool());
    if (error == nullptr) return;
    fuzz::expect_sound(error);
    expect(header_of(*error).total_length <= 576);
    rte_pktmbuf_free(error);
}

void split(rte_mbuf& packet, std::uint16_t mtu) {
    std::array<rte_mbuf*, forward::max_fragments> pieces;
    const auto whole = header_of(packet);
    std::size_t payload = 0;
    for (auto* piece : std::span(pieces).first(forward::fragment(packet, mtu, *fuzz::packet_pool(), pieces))) {
        fuzz::expect_sound(piece);
        expect(piece->pkt_len <= mtu);
        payload += piece->pkt_len - header_of(*piece).header_size();
        rte_pktmbuf_free(piece);
    }
    expect(payload == 0 || payload == whole.total_length - whole.header_size());
}

void run(fuzz::Input input) {
    const auto mtu = input.word();
    const auto segment = input.byte();
    auto* const packet = fuzz::make_packet(input.take(9000), 20u + segment);
    const auto first = offload::first_segment(*packet);
    if (segment % 2 == 0 && first.size() >= Ipv4::size) {  // else hardly any input would get past the checksum
        const auto size = std::min<std::size_t>((wire::load8(first, 0) & 15) * 4u, first.size());
        if (size >= Ipv4::size) {
            wire::store16(first, 10, 0);
            wire::store16(first, 10, wire::InternetChecksum().add(first.first(size)).value());
        }
    }
    answer(*packet);
    if (!forward::check_ipv4(*packet)) {
        fuzz::expect_sound(packet);
        if (header_of(*packet).time_to_live > 0) forward::decrement_ttl(*packet);
        answer(*packet);
        split(*packet, mtu);
    }
    rte_pktmbuf_free(packet);
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return verbline::fuzz::run_with_packets(verbline::run, data, size);
}
