// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Packets on every carrier, and the envelope that leads back to where a packet came from.

#include <ostream>
#include <string>
#include <vector>

#include "datapath/link/arrival.h"
#include "datapath/link/envelope.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/bth.h"
#include "tests/support/link_frame.h"
#include "tests/support/packet.h"

namespace verbline::test {

/// A way on which packets travel.
struct Way {
    std::string name;
    link::SourceAddress from;
    wire::AddressHandle to;

    friend std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }
};

constexpr wire::MacAddress mac_ending(unsigned n) {
    return {{std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, static_cast<std::byte>(n)}};
}
constexpr wire::MacAddress our_mac = mac_ending(1), their_mac = mac_ending(2);

inline const wire::Gid our_gid = wire::Gid::of(0xfd77'0000'0000'0000, wire::Guid{1});
inline const wire::Gid their_gid = wire::Gid::of(0xfd77'0000'0000'0000, wire::Guid{2});

inline std::vector<Way> ways() {
    using link::Carrier, link::gid_of, wire::ipv4;
    const wire::AddressHandle to{.dlid = wire::Lid{4},
                                 .sl = 5,
                                 .global = true,
                                 .dgid = their_gid,
                                 .hop_limit = 7,
                                 .traffic_class = 0x68,
                                 .flow_label = 0x12345};
    auto to_ipv4 = to, to_local = to;
    to_ipv4.dgid = gid_of(ipv4(10, 77, 0, 2));
    to_local.global = false;
    const auto from = [](Carrier carrier, std::optional<std::uint16_t> vlan = std::nullopt) {
        const auto gid = carrier == Carrier::roce_v2_ipv4 ? gid_of(ipv4(10, 77, 0, 1)) : our_gid;
        return link::SourceAddress{.carrier = carrier, .mac = our_mac, .vlan = vlan, .gid = gid, .lid = wire::Lid{3}};
    };
    return {{"RoceV2Ipv4", from(Carrier::roce_v2_ipv4), to_ipv4},
            {"RoceV2Ipv4Vlan", from(Carrier::roce_v2_ipv4, 100), to_ipv4},
            {"RoceV2Ipv6", from(Carrier::roce_v2_ipv6), to},
            {"RoceV2Ipv6Vlan", from(Carrier::roce_v2_ipv6, 100), to},
            {"RoceV1", from(Carrier::roce_v1), to},
            {"RoceV1Vlan", from(Carrier::roce_v1, 100), to},
            {"SoftIb", from(Carrier::soft_ib), to_local},
            {"SoftIbGlobal", from(Carrier::soft_ib), to}};
}

inline link::Envelope envelope_of(const Way& way) {
    return link::make_envelope(way.from, way.to, their_mac, link::udp_source_port(way.to.flow_label, {}, {}));
}

/// A frame of `payload` bytes behind the BTH, sealed.
inline ByteVector frame_on(const link::Envelope& envelope, std::size_t payload,
                           wire::Bth bth = {.dest = wire::Qpn{17}}) {
    bth.pad = -payload & 3;
    ByteVector frame(envelope.size + wire::Bth::size);
    bth.emit(std::span(frame).last<wire::Bth::size>());
    const auto data = pattern(payload);
    frame.insert(frame.end(), data.begin(), data.end());
    frame.resize(frame.size() + bth.pad + link::trailer_size(envelope.carrier));
    test::seal_frame(frame, envelope, 0x1234);
    return frame;
}
inline ByteVector frame_on(const Way& way, std::size_t payload) {
    return frame_on(envelope_of(way), payload);
}

}  // namespace verbline::test
