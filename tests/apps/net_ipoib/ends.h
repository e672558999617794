// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Both ends of a port over devices that the test holds, a host of the link, and frames of the program.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/net_ipoib/receive_end.h"
#include "apps/net_ipoib/transmit_end.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/text.h"
#include "tests/support/counter.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/packet.h"

namespace verbline::net_ipoib::test {

using verbline::test::ByteVector, verbline::test::bytes_of, verbline::test::counter, verbline::test::make_packet,
    verbline::test::Packet;

constexpr ipoib::Identity identity(std::uint16_t lid, std::uint32_t qpn) {
    return {.port = {.carrier = link::Carrier::soft_ib,
                     .gid = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{lid}),
                     .lid = wire::Lid{lid}},
            .qpn = wire::Qpn{qpn},
            .qkey = wire::QKey{0xb1b}};
}
constexpr auto own = identity(1, 0x48), host = identity(2, 0x77);
constexpr wire::MacAddress own_mac{{std::byte{2}, {}, {}, {}, {}, std::byte{1}}};
constexpr wire::MacAddress host_mac{{std::byte{2}, {}, {}, {}, {}, std::byte{2}}};
constexpr pmd::MulticastAddress broadcast{.mlid = wire::Lid{0xc000}};

inline link::Destination to(const ipoib::Identity& from, const ipoib::Identity& at,
                            wire::EtherType type = wire::ether_type::ipv4) {
    return ipoib::destination(from, {.dlid = at.port.lid}, at.qpn, type);
}
inline link::Destination to_group(const ipoib::Identity& from, wire::Lid mlid,
                                  wire::EtherType type = wire::ether_type::ipv4) {
    const wire::AddressHandle address{.dlid = mlid, .global = true, .dgid = wire::Gid::of(0xff12'401b'ffff'0000, {})};
    return ipoib::destination(from, address, wire::multicast_qpn, type);
}

/// UDP's first bytes are `pattern`.
inline ByteVector ipv4_packet(wire::Ipv4Address destination, std::size_t size = 60,
                              wire::IpProtocol protocol = wire::IpProtocol::udp) {
    auto packet = verbline::test::pattern(size);
    wire::Ipv4{.total_length = static_cast<std::uint16_t>(size),
               .protocol = protocol,
               .source = wire::ipv4(10, 2, 0, 1),
               .destination = destination}
        .with_checksum()
        .emit(std::span(packet).first<wire::Ipv4::size>());
    return packet;
}
inline ByteVector framed(wire::MacAddress to, wire::MacAddress from, wire::EtherType type, const ByteVector& packet) {
    ByteVector frame(wire::Ethernet::size);
    wire::Ethernet{.destination = to, .source = from, .type = type}.emit(
        std::span(frame).first<wire::Ethernet::size>());
    frame.insert(frame.end(), packet.begin(), packet.end());
    return frame;
}

inline std::unique_ptr<router::Ring<router::Event>> make_events(const std::string& name) {
    return std::make_unique<router::Ring<router::Event>>(std::move(*router::Ring<router::Event>::create(name, 64)));
}

/// What the next event is, if it is one of these.
template <class T>
std::optional<T> next(router::Ring<router::Event>& events) {
    const auto event = events.pop();
    if (!event || !std::holds_alternative<T>(*event)) return std::nullopt;
    return std::get<T>(*event);
}

}  // namespace verbline::net_ipoib::test
