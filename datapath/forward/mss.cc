// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/mss.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include <rte_mbuf.h>

#include "datapath/offload/packet.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/tcp.h"

namespace verbline::forward {

using wire::Ipv4;
using wire::Ipv6;
using wire::Tcp;

namespace {

/// Of an IP header: its size in this packet, and without options, which is what counts (RFC 6691, 2).
struct IpSize {
    std::size_t header = 0, fixed = 0;  ///< 0: TCP does not follow
};

IpSize ip_size(wire::Bytes packet) {
    const auto version = packet.empty() ? 0 : wire::load8(packet, 0) >> 4;
    if (version == 6) {
        const auto ip = wire::View<Ipv6>::over(packet);
        if (!ip || ip->get<&Ipv6::next_header>() != wire::IpProtocol::tcp) return {};
        return {Ipv6::size, Ipv6::size};
    }
    const auto ip = wire::View<Ipv4>::over(packet);
    if (!ip || version != 4 || ip->get<&Ipv4::protocol>() != wire::IpProtocol::tcp) return {};
    const std::size_t size = ip->get<&Ipv4::header_words>() * 4u;
    if (size < Ipv4::size || size > packet.size() || ip->get<&Ipv4::fragment_offset>() != 0) return {};
    return {size, Ipv4::size};
}

/// A SYN's TCP header with its options; else nothing.
wire::MutableBytes syn_header(wire::MutableBytes tcp) {
    const auto header = wire::View<Tcp>::over(tcp);
    if (!header || (header->get<&Tcp::flags>() & wire::tcp_flag::syn) == 0) return {};
    const std::size_t size = header->get<&Tcp::header_words>() * 4u;
    return size < Tcp::size || size > tcp.size() ? wire::MutableBytes() : tcp.first(size);
}

/// The offset of the value of the first option of maximum segment size at or behind the option at `at`; 0: there is
/// none.
std::size_t find_mss(wire::Bytes header, std::size_t at) {
    while (at < header.size()) {
        const auto kind = wire::load8(header, at);
        if (kind == wire::tcp_option::end) return 0;
        if (kind == wire::tcp_option::no_operation) {
            ++at;
            continue;
        }
        const std::size_t length = at + 1 < header.size() ? wire::load8(header, at + 1) : 0;
        if (length < 2 || length > header.size() - at) return 0;
        if (kind == wire::tcp_option::maximum_segment_size && length == 4) return at + 2;
        at += length;
    }
    return 0;
}

/// Changes a word of the header, and the checksum with it. A word at an odd offset is summed with its bytes swapped
/// (RFC 1071, 2 (B)).
void change(wire::MutableBytes header, std::size_t at, std::uint16_t value, bool summed) {
    const auto as_summed = [at](std::uint16_t word) { return at % 2 == 0 ? word : std::rotl(word, 8); };
    const auto before = wire::load16(header, at);
    wire::store16(header, at, value);
    if (!summed) return;
    const auto tcp = *wire::View<Tcp, std::byte>::over(header);
    tcp.set<&Tcp::checksum>(wire::updated_checksum(tcp.get<&Tcp::checksum>(), as_summed(before), as_summed(value)));
}

}  // namespace

bool clamp_mss(rte_mbuf& packet, std::uint32_t mtu) {
    const auto bytes = offload::first_segment(packet);
    const auto ip = ip_size(bytes);
    if (ip.header == 0 || mtu <= ip.fixed + Tcp::size) return false;
    const auto header = syn_header(bytes.subspan(ip.header));
    const auto largest = static_cast<std::uint16_t>(std::min<std::size_t>(mtu - ip.fixed - Tcp::size, 0xffff));
    const bool summed = (packet.ol_flags & (RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_TCP_SEG)) == 0;
    bool lowered = false;
    // One option is usual. Which of several counts is the receiver's choice, so that all are lowered.
    for (auto at = find_mss(header, Tcp::size); at != 0; at = find_mss(header, at + 2)) {
        if (wire::load16(header, at) <= largest) continue;
        change(header, at, largest, summed);
        lowered = true;
    }
    return lowered;
}

}  // namespace verbline::forward
