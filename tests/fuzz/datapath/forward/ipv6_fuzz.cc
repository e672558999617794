// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Any packet through what a router does to it: check, hop limit, ICMPv6 error. What passes the check is as long as it
/// says, and stays valid whatever is done to it.

#include <span>

#include "datapath/forward/icmpv6_error.h"
#include "datapath/forward/ipv6.h"
#include "datapath/offload/packet.h"
#include "datapath/wire/ipv6.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline {
namespace {

using fuzz::expect;
using wire::Ipv6;

Ipv6 header_of(const rte_mbuf& packet) {
    const auto ip = Ipv6::parse(offload::first_segment(packet), packet.pkt_len);
    expect(ip.has_value());
    expect(Ipv6::size + ip->payload_length == packet.pkt_len);
    return *ip;
}

void answer(const rte_mbuf& packet, const forward::Icmpv6Error& error) {
    auto* const message = forward::icmpv6_error(packet, error, wire::Ipv6Address{}, *fuzz::packet_pool());
    if (message == nullptr) return;
    fuzz::expect_sound(message);
    expect(header_of(*message).payload_length <= 1240);
    rte_pktmbuf_free(message);
}

void run(fuzz::Input input) {
    const auto segment = input.byte();
    auto* const packet = fuzz::make_packet(input.take(9000), 40u + segment);
    std::ignore = forward::is_neighbour_discovery(*packet);
    answer(*packet, forward::Icmpv6Error::time_exceeded());
    if (!forward::check_ipv6(*packet)) {
        fuzz::expect_sound(packet);
        if (header_of(*packet).hop_limit > 0) forward::decrement_hop_limit(*packet);
        answer(*packet, forward::Icmpv6Error::packet_too_big(1280));
    }
    rte_pktmbuf_free(packet);
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return verbline::fuzz::run_with_packets(verbline::run, data, size);
}
