// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/arrival.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "datapath/link/ip_gid.h"
#include "datapath/link/part.h"
#include "datapath/link/soft_ib.h"
#include "datapath/wire/bth.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/icrc.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/lrh.h"
#include "datapath/wire/udp.h"

namespace verbline::link {
namespace {

using wire::Bth, wire::Ecn, wire::Ethernet, wire::Grh, wire::icrc_size, wire::IcrcOver, wire::Ipv4, wire::Ipv6;
using wire::Lrh, wire::Udp, wire::Vlan;

/// Common to all carriers, once the headers in front of the BTH are checked: the packet is `through_icrc` bytes from
/// `network_at` on.
///
/// Writes the members of `out` directly: a temporary written in pieces and then copied would stall on store forwarding.
void arrived(Arrival& out, wire::Bytes frame, Carrier carrier, std::size_t network_at, std::size_t bth_at,
             std::size_t through_icrc, bool global, Ecn ecn) {
    const bool over_ip = carrier == Carrier::roce_v2_ipv4 || carrier == Carrier::roce_v2_ipv6;
    out.carrier = carrier;
    out.congestion_experienced =
        over_ip ? ecn == Ecn::congestion_experienced : part_at<Bth>(frame, bth_at).get<&Bth::fecn>();
    out.global = global;
    out.network_at = static_cast<std::uint32_t>(network_at);
    out.bth_at = static_cast<std::uint32_t>(bth_at);
    out.end = static_cast<std::uint32_t>(network_at + through_icrc - icrc_size);
}

/// From BTH to ICRC the length is a multiple of 4 bytes (IBTA volume 1, 9.2), as is that of the headers before it.
bool possible(std::size_t through_icrc, IcrcOver first) {
    return through_icrc >= wire::icrc_headers(first) + icrc_size && through_icrc % 4 == 0;
}

/// One's complement sums come out the same in any byte order (RFC 1071, 2 (B)), so the header is summed as it lies
/// there; all ones, which an intact one gives, is the only multiple of 0xffff that a header can give, because it is not
/// zero.
bool checksum_verifies(std::span<const std::byte, Ipv4::size> header) {
    std::array<std::uint32_t, Ipv4::size / 4> words;
    std::memcpy(words.data(), header.data(), header.size());
    std::uint64_t sum = 0;
    for (const auto word : words) sum += word;
    return sum % 0xffff == 0;
}

/// The reason to drop an IPv4 packet that is not plain UDP. A fragment without ports is taken for RoCE.
Discard refusal(wire::Bytes packet) {
    const auto ip = part_at<Ipv4>(packet);
    if (Ipv4::Layout::refusal(ip.bytes())) return Discard::rx_dropped_ip_version;
    if (ip.get<&Ipv4::protocol>() != wire::IpProtocol::udp) return Discard::rx_dropped_foreign;
    if (ip.get<&Ipv4::fragment_offset>() != 0) return Discard::rx_dropped_ip_fragment;
    const std::size_t udp_at = std::size_t{ip.get<&Ipv4::header_words>()} * 4;
    if (udp_at < Ipv4::size) return Discard::rx_dropped_length;
    if (packet.size() < udp_at + Udp::size) return Discard::rx_dropped_truncated;
    if (part_at<Udp>(packet, udp_at).get<&Udp::destination_port>() != wire::roce_v2_port) {
        return Discard::rx_dropped_foreign;
    }
    return udp_at == Ipv4::size ? Discard::rx_dropped_ip_fragment : Discard::rx_dropped_ip_options;
}

std::optional<Discard> open_ipv4(wire::Bytes frame, std::size_t at, Arrival& out) {
    const auto packet = frame.subspan(at);
    if (packet.size() < Ipv4::size + Udp::size) return Discard::rx_dropped_truncated;
    const auto ip = part_at<Ipv4>(packet);
    constexpr std::uint8_t no_options = 0x45;
    if (wire::load8(packet, 0) != no_options || ip.get<&Ipv4::protocol>() != wire::IpProtocol::udp ||
        ip.get<&Ipv4::more_fragments>() || ip.get<&Ipv4::fragment_offset>() != 0) {
        return refusal(packet);
    }
    const auto udp = part_at<Udp>(packet, Ipv4::size);
    if (udp.get<&Udp::destination_port>() != wire::roce_v2_port) return Discard::rx_dropped_foreign;
    const std::size_t length = ip.get<&Ipv4::total_length>();
    if (!possible(length, IcrcOver::ipv4) || udp.get<&Udp::length>() != length - Ipv4::size) {
        return Discard::rx_dropped_length;
    }
    if (packet.size() < length) return Discard::rx_dropped_truncated;
    if (!checksum_verifies(ip.bytes())) return Discard::rx_dropped_ip_checksum;
    arrived(out, frame, Carrier::roce_v2_ipv4, at, at + Ipv4::size + Udp::size, length, true, ip.get<&Ipv4::ecn>());
    return std::nullopt;
}

std::optional<Discard> open_ipv6(wire::Bytes frame, std::size_t at, Arrival& out) {
    const auto packet = frame.subspan(at);
    if (packet.size() < Ipv6::size + Udp::size) return Discard::rx_dropped_truncated;
    const auto ip = part_at<Ipv6>(packet);
    if (Ipv6::Layout::refusal(ip.bytes())) return Discard::rx_dropped_ip_version;
    const auto udp = part_at<Udp>(packet, Ipv6::size);
    // RoCE has no extension headers, so a packet with some is not RoCE.
    if (ip.get<&Ipv6::next_header>() != wire::IpProtocol::udp ||
        udp.get<&Udp::destination_port>() != wire::roce_v2_port) {
        return Discard::rx_dropped_foreign;
    }
    const std::size_t length = Ipv6::size + ip.get<&Ipv6::payload_length>();
    if (!possible(length, IcrcOver::ipv6) || udp.get<&Udp::length>() != length - Ipv6::size) {
        return Discard::rx_dropped_length;
    }
    if (packet.size() < length) return Discard::rx_dropped_truncated;
    arrived(out, frame, Carrier::roce_v2_ipv6, at, at + Ipv6::size + Udp::size, length, true, ip.get<&Ipv6::ecn>());
    return std::nullopt;
}

std::optional<Discard> open_roce_v1(wire::Bytes frame, std::size_t at, Arrival& out) {
    const auto packet = frame.subspan(at);
    if (packet.size() < Grh::size) return Discard::rx_dropped_truncated;
    const auto grh = part_at<Grh>(packet);
    if (Grh::Layout::refusal(grh.bytes())) return Discard::rx_dropped_ip_version;
    if (grh.get<&Grh::next_header>() != Grh::transport) return Discard::rx_dropped_grh;
    const std::size_t length = Grh::size + grh.get<&Grh::payload_length>();
    if (!possible(length, IcrcOver::grh)) return Discard::rx_dropped_length;
    if (packet.size() < length) return Discard::rx_dropped_truncated;
    arrived(out, frame, Carrier::roce_v1, at, at + Grh::size, length, true, {});
    return std::nullopt;
}

std::optional<Discard> open_soft_ib(wire::Bytes frame, Arrival& out) {
    const auto parts = soft_ib::check(frame);
    if (!parts) return parts.error();
    arrived(out, frame, Carrier::soft_ib, parts->network_at, parts->bth_at,
            parts->icrc_at + icrc_size - parts->network_at, parts->global, {});
    return std::nullopt;
}

/// Source and destination address lie side by side: 4 bytes each in an IPv4 header, 16 each in an IPv6 header or GRH.
constexpr std::size_t ipv4_addresses_at = 12, gids_at = 8, gid_size = sizeof(wire::Gid);

template <std::size_t size>
bool exchanged(const std::byte* a, const std::byte* b) {
    return std::memcmp(a, b + size, size) == 0 && std::memcmp(a + size, b, size) == 0;
}

wire::Gid gid_at(wire::Bytes frame, const Arrival& arrival, std::size_t which) {
    if (!arrival.global) return {};
    const auto network = frame.subspan(arrival.network_at);
    if (arrival.carrier == Carrier::roce_v2_ipv4) {
        return gid_of(wire::Ipv4Address{wire::load32(network, ipv4_addresses_at + which * 4)});
    }
    wire::Gid gid;
    std::ranges::copy(network.subspan(gids_at + which * gid_size, gid_size), gid.bytes.begin());
    return gid;
}

/// No longer than offsets reach; no link carries so much.
wire::Bytes within_reach(wire::Bytes frame) {
    return frame.first(std::min<std::size_t>(frame.size(), 0xffff));
}

bool tagged(const Arrival& arrival) {
    return arrival.carrier != Carrier::soft_ib && arrival.network_at > Ethernet::size;
}

}  // namespace

std::optional<Discard> verify(wire::Bytes frame, const Arrival& arrival) noexcept {
    const auto packet = frame.subspan(arrival.network_at, arrival.end + icrc_size - arrival.network_at);
    bool intact = true;
    switch (arrival.carrier) {
        case Carrier::roce_v2_ipv4: intact = wire::icrc_ok(IcrcOver::ipv4, packet); break;
        case Carrier::roce_v2_ipv6: intact = wire::icrc_ok(IcrcOver::ipv6, packet); break;
        case Carrier::roce_v1: intact = wire::icrc_ok(IcrcOver::grh, packet); break;
        case Carrier::soft_ib: break;  // with the VCRC, when its headers were opened
    }
    if (!intact) return Discard::rx_dropped_icrc;
    const auto bth = part_at<Bth>(frame, arrival.bth_at);
    const bool possible =
        !Bth::Layout::refusal(bth.bytes()) && arrival.end - arrival.bth_at - Bth::size >= bth.get<&Bth::pad>();
    return possible ? std::nullopt : std::optional(Discard::rx_dropped_bth);
}

std::optional<Discard> open_headers(wire::Bytes frame, Arrival& out) noexcept {
    frame = within_reach(frame);
    if (frame.size() < Ethernet::size) return Discard::rx_dropped_truncated;
    auto type = part_at<Ethernet>(frame).get<&Ethernet::type>();
    if (type == wire::ether_type::soft_ib) return open_soft_ib(frame, out);
    std::size_t at = Ethernet::size;
    if (type == wire::ether_type::vlan) {
        if (frame.size() < at + Vlan::size) return Discard::rx_dropped_truncated;
        type = part_at<Vlan>(frame, at).get<&Vlan::type>();
        at += Vlan::size;
    }
    switch (type) {
        case wire::ether_type::ipv4: return open_ipv4(frame, at, out);
        case wire::ether_type::ipv6: return open_ipv6(frame, at, out);
        case wire::ether_type::roce_v1: return open_roce_v1(frame, at, out);
        default: return Discard::rx_dropped_foreign;
    }
}

std::optional<Discard> open_headers(wire::Bytes frame, Carrier carrier, Arrival& out) noexcept {
    frame = within_reach(frame);
    if (frame.size() < Ethernet::size) return Discard::rx_dropped_truncated;
    if (part_at<Ethernet>(frame).get<&Ethernet::type>() != ether_type_of(carrier)) return Discard::rx_dropped_foreign;
    switch (carrier) {
        case Carrier::roce_v2_ipv4: return open_ipv4(frame, Ethernet::size, out);
        case Carrier::roce_v2_ipv6: return open_ipv6(frame, Ethernet::size, out);
        case Carrier::roce_v1: return open_roce_v1(frame, Ethernet::size, out);
        case Carrier::soft_ib: return open_soft_ib(frame, out);
    }
    std::unreachable();
}

wire::Bytes route_header(wire::Bytes frame, const Arrival& arrival) noexcept {
    if (!arrival.global) return {};
    const bool ipv4 = arrival.carrier == Carrier::roce_v2_ipv4;
    return frame.subspan(arrival.network_at, ipv4 ? Ipv4::size : global_route_header_size);
}

bool answers(wire::Bytes frame, const Arrival& arrival, const Envelope& envelope) noexcept {
    if (arrival.carrier != envelope.carrier) return false;
    const auto* const there = frame.data() + arrival.network_at;
    const auto* const here = envelope.bytes.data() + envelope.covered_at;
    if (arrival.carrier == Carrier::roce_v2_ipv4) {
        return exchanged<4>(there + ipv4_addresses_at, here + ipv4_addresses_at);
    }
    const bool global = envelope.covered_at + Grh::size <= envelope.size;
    if (arrival.global != global) return false;
    if (global) return exchanged<gid_size>(there + gids_at, here + gids_at);
    const auto sent = part_at<Lrh>(envelope.view(), envelope.covered_at);
    return source_lid(frame, arrival) == sent.get<&Lrh::destination>() &&
           destination_lid(frame, arrival) == sent.get<&Lrh::source>();
}

wire::Gid source_gid(wire::Bytes frame, const Arrival& arrival) noexcept {
    return gid_at(frame, arrival, 0);
}

wire::Gid destination_gid(wire::Bytes frame, const Arrival& arrival) noexcept {
    return gid_at(frame, arrival, 1);
}

wire::MacAddress source_mac(wire::Bytes frame) noexcept {
    return part_at<Ethernet>(frame).get<&Ethernet::source>();
}

std::optional<std::uint16_t> vlan(wire::Bytes frame, const Arrival& arrival) noexcept {
    if (!tagged(arrival)) return std::nullopt;
    const auto id = part_at<Vlan>(frame, Ethernet::size).get<&Vlan::id>();
    return id == 0 ? std::nullopt : std::optional(id);
}

std::uint8_t service_level(wire::Bytes frame, const Arrival& arrival) noexcept {
    if (arrival.carrier == Carrier::soft_ib) return part_at<Lrh>(frame, Ethernet::size).get<&Lrh::service_level>();
    if (tagged(arrival)) return part_at<Vlan>(frame, Ethernet::size).get<&Vlan::priority>();
    // Untagged frames have none. mlx5 adapters report the kind of the network header here, and UCX relies on it.
    switch (arrival.carrier) {
        case Carrier::roce_v2_ipv6: return 1;
        case Carrier::roce_v2_ipv4: return 2;
        default: return 0;
    }
}

wire::Lid source_lid(wire::Bytes frame, const Arrival& arrival) noexcept {
    if (arrival.carrier != Carrier::soft_ib) return {};
    return part_at<Lrh>(frame, Ethernet::size).get<&Lrh::source>();
}

wire::Lid destination_lid(wire::Bytes frame, const Arrival& arrival) noexcept {
    if (arrival.carrier != Carrier::soft_ib) return {};
    return part_at<Lrh>(frame, Ethernet::size).get<&Lrh::destination>();
}

}  // namespace verbline::link
