// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Frames as members of a node and hosts on its link send them.

#include "datapath/link/member.h"
#include "datapath/wire/deth.h"
#include "datapath/wire/ethernet.h"
#include "tests/datapath/link/frames.h"

namespace verbline::test {

constexpr std::uint8_t rc_send_only = 0x04, ud_send_only = 0x64;
constexpr link::MemberId member_5{5}, member_6{6};

/// From `our_mac`, which is the node's, to `their_mac`.
inline ByteVector frame_to(wire::Qpn to, std::uint8_t opcode = rc_send_only) {
    return frame_on(envelope_of(ways().front()), 32, {.opcode = opcode, .dest = to});
}
/// A datagram; its payload does not matter.
inline ByteVector datagram(wire::Qpn from, wire::Qpn to) {
    const auto envelope = envelope_of(ways().front());
    auto frame = frame_to(to, ud_send_only);
    wire::Deth{.qkey = wire::gsi_qkey, .source = from}.emit(
        std::span(frame).subspan(envelope.size + wire::Bth::size).first<wire::Deth::size>());
    seal_frame(frame, envelope, 0x1234);
    return frame;
}
inline ByteVector with_macs(ByteVector frame, const wire::MacAddress& destination, const wire::MacAddress& source) {
    std::ranges::copy(destination.bytes, frame.begin());
    std::ranges::copy(source.bytes, frame.begin() + 6);
    return frame;
}
inline wire::MacAddress destination_of(const Packet& packet) {
    return wire::Ethernet::parse(bytes_of(packet))->destination;
}
inline wire::MacAddress source_of(const Packet& packet) {
    return wire::Ethernet::parse(bytes_of(packet))->source;
}

}  // namespace verbline::test
