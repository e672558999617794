// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/frame_layout.h"

#include "datapath/wire/bth.h"
#include "datapath/wire/deth.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/tcp.h"
#include "datapath/wire/udp.h"

namespace verbline::traffic {
namespace {

constexpr std::size_t datagram_headers = wire::Bth::size + wire::Deth::size;
constexpr std::size_t unit = 4;  ///< of InfiniBand's payloads, bytes
constexpr std::size_t checksum_in_ipv4 = 10, checksum_in_udp = 6, checksum_in_tcp = 16;  ///< bytes from its begin

std::size_t ip_size(const FrameSpec& spec) {
    return spec.ipv6 ? wire::Ipv6::size : wire::Ipv4::size;
}

}  // namespace

FrameLayout::FrameLayout(const FrameSpec& spec)
    : network(wire::Ethernet::size + (spec.vlan ? wire::Vlan::size : 0)), ip(network) {
    const bool plain = spec.encapsulation == Encapsulation::none;
    const bool carries_ip = plain || spec.encapsulation == Encapsulation::ipoib;
    if (spec.encapsulation == Encapsulation::roce_v1) {
        bth = network + wire::Grh::size;
        icrc = wire::IcrcOver::grh;
    } else if (!plain) {
        bth = network + ip_size(spec) + wire::Udp::size;
        icrc = spec.ipv6 ? wire::IcrcOver::ipv6 : wire::IcrcOver::ipv4;
    }
    if (!plain && carries_ip) ip = payload() + wire::IpoibHeader::size;
    if (spec.encapsulation != Encapsulation::roce_v1) {
        l4 = ip + ip_size(spec);
        if (!spec.ipv6) ip_checksum = ip + checksum_in_ipv4;
    }
    const bool tcp = spec.transport == Transport::tcp;
    if (carries_ip) l4_checksum = l4 + (tcp ? checksum_in_tcp : checksum_in_udp);
    stamp = carries_ip ? l4 + (tcp ? wire::Tcp::size : wire::Udp::size) : payload();
}

std::size_t FrameLayout::payload() const {
    return bth + datagram_headers;
}

std::size_t FrameLayout::packet_end(std::size_t length) const {
    if (!icrc) return length;
    return payload() + (length - payload() - wire::icrc_size) / unit * unit + wire::icrc_size;
}

std::size_t FrameLayout::least() const {
    if (!icrc) return head();
    return payload() + (head() - payload() + unit - 1) / unit * unit + wire::icrc_size;
}

}  // namespace verbline::traffic
