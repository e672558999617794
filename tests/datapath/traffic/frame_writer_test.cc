// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/frame_writer.h"

#include <map>
#include <set>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "datapath/wire/bth.h"
#include "datapath/wire/deth.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/icrc.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/tcp.h"
#include "datapath/wire/udp.h"
#include "tests/support/checksum.h"
#include "tests/support/packet.h"

namespace verbline::traffic {
namespace {

using test::ByteVector;

FrameTemplate frames_of(const FrameSpec& spec, std::string_view sizes) {
    return FrameTemplate::make(spec, SizeMix::parse(sizes).value()).value();
}

/// The next frame as it lies in a buffer of zeros.
ByteVector next(FrameWriter& writer, std::uint64_t time = 0x0123'4567'89ab'cdef) {
    ByteVector buffer(max_frame);
    buffer.resize(writer.write(buffer, time));
    return buffer;
}

/// Every kind of frame of this encapsulation, each of its fields with several values.
std::vector<FrameSpec> all_kinds(Encapsulation encapsulation = Encapsulation::none) {
    std::vector<FrameSpec> kinds;
    for (const bool ipv6 : {false, true}) {
        for (const bool tagged : {false, true}) {
            for (const auto transport : {Transport::udp, Transport::tcp}) {
                FrameSpec spec{.ipv6 = ipv6, .transport = transport, .encapsulation = encapsulation};
                if (tagged) spec.vlan = {100, 3};
                spec.source_mac.count = spec.destination_mac.count = 2;
                spec.source_ipv4.count = spec.source_ipv6.count = 5;
                spec.destination_ipv4.count = spec.destination_ipv6.count = 70'000;
                spec.source_port.count = 7, spec.destination_port.count = 2;
                spec.destination_qpn.count = 3;
                kinds.push_back(spec);
            }
        }
    }
    return kinds;
}

/// Fails unless the headers of an IP packet are whole and their checksums right. Returns what lies behind the last one.
wire::Bytes expect_valid_ip(wire::Bytes rest, const FrameSpec& spec) {
    const std::size_t ip_size = spec.ipv6 ? wire::Ipv6::size : wire::Ipv4::size;
    const auto protocol = spec.transport == Transport::tcp ? wire::IpProtocol::tcp : wire::IpProtocol::udp;
    if (spec.ipv6) {
        EXPECT_EQ(wire::Ipv6::parse(rest).value().payload_length, rest.size() - ip_size);
        EXPECT_EQ(wire::Ipv6::parse(rest).value().next_header, protocol);
    } else {
        EXPECT_EQ(wire::Ipv4::parse(rest).value().total_length, rest.size());
        EXPECT_EQ(wire::Ipv4::parse(rest).value().protocol, protocol);
        EXPECT_EQ(test::naive_checksum(rest.first(ip_size)), 0);
    }
    if (spec.encapsulation == Encapsulation::roce_v2) {
        EXPECT_EQ(wire::Udp::parse(rest.subspan(ip_size)).value().checksum, 0);
    } else {
        EXPECT_EQ(test::naive_l4_checksum(rest, ip_size), 0);
    }
    rest = rest.subspan(ip_size);
    if (spec.transport == Transport::tcp) return rest.subspan(wire::Tcp::parse(rest).value().header_size());
    EXPECT_EQ(wire::Udp::parse(rest).value().length, rest.size());
    return rest.subspan(wire::Udp::size);
}

/// Fails unless Ethernet's header and tag are right. Returns what lies behind.
wire::Bytes expect_valid_ethernet(wire::Bytes frame, const FrameSpec& spec, wire::EtherType expected) {
    auto rest = frame.subspan(wire::Ethernet::size);
    auto type = wire::Ethernet::parse(frame).value().type;
    if (spec.vlan) {
        EXPECT_EQ(type, wire::ether_type::vlan);
        type = wire::Vlan::parse(rest).value().type;
        rest = rest.subspan(wire::Vlan::size);
    }
    EXPECT_EQ(type, expected);
    return rest;
}

/// Fails unless every header is whole and every checksum right. Returns what lies behind the last header.
wire::Bytes expect_valid(wire::Bytes frame, const FrameSpec& spec) {
    const auto type = spec.ipv6 ? wire::ether_type::ipv6 : wire::ether_type::ipv4;
    return expect_valid_ip(expect_valid_ethernet(frame, spec, type), spec);
}

/// The same of a datagram to a queue pair. Returns its payload.
wire::Bytes expect_valid_datagram(wire::Bytes rest, const FrameSpec& spec) {
    const auto payload = rest.subspan(wire::Bth::size + wire::Deth::size);
    EXPECT_EQ(payload.size() % 4, 0u);
    const auto bth = wire::Bth::parse(rest).value();
    EXPECT_EQ(bth.opcode, wire::ud_send_only);
    EXPECT_GE(bth.dest, spec.destination_qpn.first);
    EXPECT_LT(static_cast<std::uint32_t>(bth.dest),
              static_cast<std::uint32_t>(spec.destination_qpn.first) + spec.destination_qpn.count);
    return payload;
}

/// The same of a frame with a datagram. Returns what lies behind the last header, up to the ICRC.
wire::Bytes expect_valid_roce(wire::Bytes frame, const FrameSpec& spec) {
    using enum Encapsulation;
    const FrameLayout at(spec);
    const auto type = spec.encapsulation == roce_v1 ? wire::ether_type::roce_v1
                      : spec.ipv6                   ? wire::ether_type::ipv6
                                                    : wire::ether_type::ipv4;
    auto packet = expect_valid_ethernet(frame, spec, type);
    packet = packet.first(at.packet_end(frame.size()) - at.network);
    EXPECT_LT(frame.size() - at.network - packet.size(), 4u);
    EXPECT_TRUE(wire::icrc_ok(*at.icrc, packet));
    packet = packet.first(packet.size() - wire::icrc_size);
    if (spec.encapsulation == roce_v1) {
        EXPECT_EQ(wire::Grh::parse(packet).value().payload_length, packet.size() - wire::Grh::size + wire::icrc_size);
        return expect_valid_datagram(packet.subspan(wire::Grh::size), spec);
    }
    // The lengths of IP and UDP include the ICRC.
    const auto whole = frame.subspan(at.network, packet.size() + wire::icrc_size);
    const auto inside = expect_valid_ip(whole, {.ipv6 = spec.ipv6, .encapsulation = roce_v2});
    const auto payload = expect_valid_datagram(inside.first(inside.size() - wire::icrc_size), spec);
    if (spec.encapsulation == roce_v2) return payload;
    EXPECT_EQ(wire::IpoibHeader::parse(payload).value().type, type);
    FrameSpec ip = spec;
    ip.encapsulation = none;
    return expect_valid_ip(payload.subspan(wire::IpoibHeader::size), ip);
}

TEST(FrameWriter, EveryKindOfFrameIsValid) {
    for (const auto& spec : all_kinds()) {
        const auto frames = frames_of(spec, "104,1518:3,9216");
        FrameWriter writer(frames, FlowSlice::of(frames.flows(), 1, 3), 7, 9);
        for (unsigned i = 0; i < 2000; ++i) expect_valid(next(writer, i * 0x1234'5678'9abc), spec);
    }
}

TEST(FrameWriter, EveryKindOfDatagramIsValid) {
    using enum Encapsulation;
    for (const auto encapsulation : {roce_v1, roce_v2, ipoib}) {
        for (const auto& spec : all_kinds(encapsulation)) {
            const auto frames = frames_of(spec, "256,1518:3,259,9216");
            FrameWriter writer(frames, FlowSlice::of(frames.flows(), 1, 3), 7, 9);
            for (unsigned i = 0; i < 2000; ++i) {
                const auto frame = next(writer, i * 0x1234'5678'9abc);
                EXPECT_TRUE(Stamp::parse(expect_valid_roce(frame, spec)));
            }
        }
    }
}

TEST(FrameWriter, IcrcOfAFrameOfAnotherSizeIsClearedFromItsBuffer) {
    const FrameSpec spec{.encapsulation = Encapsulation::roce_v2};
    const auto frames = frames_of(spec, "128,1518,256");
    FrameWriter writer(frames, {}, 0, 0);
    ByteVector buffer(max_frame);
    for (unsigned i = 0; i < 9; ++i) {
        const auto length = writer.write(buffer, i);
        expect_valid_roce(wire::Bytes(buffer).first(length), spec);
    }
}

TEST(FrameWriter, StampFollowsTheHeaders) {
    for (const auto& spec : all_kinds()) {
        const auto frames = frames_of(spec, "128");
        FrameWriter writer(frames, {0, frames.flows()}, 7, 9);
        next(writer);
        const auto frame = next(writer, 1234);
        EXPECT_EQ(Stamp::parse(expect_valid(frame, spec)), (Stamp{.run = 7, .stream = 9, .sequence = 1, .time = 1234}));
    }
}

TEST(FrameWriter, ChecksumOfZeroIsSentAsOnes) {
    // Among all values of a 16-bit word there is one that makes the sum zero.
    FrameSpec spec;
    spec.source_port = {0, 65536};
    const auto frames = frames_of(spec, "64");
    FrameWriter writer(frames, {0, frames.flows()}, 0, 0);
    std::set<std::uint16_t> seen;
    for (std::uint32_t port = 0; port <= UINT16_MAX; ++port)
        seen.insert(wire::load16(next(writer), frames.l4_checksum_at()));
    EXPECT_FALSE(seen.contains(0));
    EXPECT_TRUE(seen.contains(UINT16_MAX));
}

TEST(FrameWriter, SmallestFrameHasNoRoomToSpare) {
    const auto frames = frames_of({}, "64");
    FrameWriter writer(frames, {}, 0, 0);
    const auto frame = next(writer);
    EXPECT_EQ(frame.size(), 60u);
    EXPECT_EQ(frames.stamp_at() + Stamp::size, frame.size());
    EXPECT_EQ(expect_valid(frame, {}).size(), Stamp::size);
}

TEST(FrameWriter, SmallestDatagramsHaveLessThanFourBytesToSpare) {
    using enum Encapsulation;
    for (const auto encapsulation : {roce_v1, roce_v2, ipoib}) {
        for (const auto& spec : all_kinds(encapsulation)) {
            const auto least = FrameLayout(spec).least() + fcs;
            const auto frames = frames_of(spec, std::to_string(least));
            EXPECT_FALSE(FrameTemplate::make(spec, SizeMix::parse(std::to_string(least - 1)).value()));
            FrameWriter writer(frames, {}, 0, 0);
            EXPECT_LT(expect_valid_roce(next(writer), spec).size(), Stamp::size + 4);
        }
    }
}

TEST(FrameWriter, TooSmallASizeIsRefused) {
    const auto refused = FrameTemplate::make({.ipv6 = true}, SizeMix::parse("128,80").value());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().what,
              "frames of 80 bytes have no room for their headers and the stamp behind them: give 84 or more");
    EXPECT_TRUE(FrameTemplate::make({.ipv6 = true}, SizeMix::parse("84").value()));
}

/// Source and destination, port and address, of frames over IPv4.
using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint16_t, std::uint16_t>;
Key key_of(wire::Bytes frame) {
    return {wire::load32(frame, 26), wire::load32(frame, 30), wire::load16(frame, 34), wire::load16(frame, 36)};
}

TEST(FrameWriter, VisitsEveryFlowOnceInEachRound) {
    FrameSpec spec;
    spec.source_ipv4.count = 5, spec.destination_ipv4.count = 4;
    spec.source_port.count = 3, spec.destination_port.count = 2;
    const auto frames = frames_of(spec, "64");
    EXPECT_EQ(frames.flows(), 120u);
    FrameWriter writer(frames, {0, 120}, 0, 0);
    std::map<Key, unsigned> seen;
    for (unsigned i = 0; i < 240; ++i) ++seen[key_of(next(writer))];
    EXPECT_EQ(seen.size(), 120u);
    for (const auto& [key, times] : seen) EXPECT_EQ(times, 2u);
}

TEST(FrameWriter, SourcePortCountsFastest) {
    FrameSpec spec;
    spec.source_port = {1000, 3}, spec.source_ipv4 = {wire::ipv4(10, 0, 0, 255), 2};
    const auto frames = frames_of(spec, "64");
    FrameWriter writer(frames, {0, frames.flows()}, 0, 0);
    std::vector<std::pair<std::uint32_t, std::uint16_t>> seen;
    for (unsigned i = 0; i < 4; ++i) {
        const auto [source, destination, from, to] = key_of(next(writer));
        seen.emplace_back(source, from);
    }
    EXPECT_EQ(seen, (decltype(seen){{0x0a0000ff, 1000}, {0x0a0000ff, 1001}, {0x0a0000ff, 1002}, {0x0a000100, 1000}}));
}

TEST(FlowSlice, SlicesCoverAllFlowsOnce) {
    FrameSpec spec;
    spec.source_port.count = 10, spec.source_ipv4.count = 10;
    const auto frames = frames_of(spec, "64");
    std::set<Key> seen;
    unsigned written = 0;
    for (unsigned part = 0; part < 3; ++part) {
        const auto slice = FlowSlice::of(100, part, 3);
        FrameWriter writer(frames, slice, 0, 0);
        for (auto flow = slice.first; flow < slice.end; ++flow, ++written) seen.insert(key_of(next(writer)));
    }
    EXPECT_EQ(written, 100u);
    EXPECT_EQ(seen.size(), 100u);
}

TEST(FlowSlice, WithFewerFlowsThanPartsEachHasOne) {
    for (unsigned part = 0; part < 5; ++part) {
        const auto slice = FlowSlice::of(2, part, 5);
        EXPECT_EQ(slice.end - slice.first, 1u);
        EXPECT_LT(slice.first, 2u);
    }
}

TEST(FrameWriter, SizesFollowTheMix) {
    const auto frames = frames_of({}, "imix");
    FrameWriter writer(frames, {}, 0, 0);
    std::map<std::size_t, unsigned> seen;
    for (unsigned i = 0; i < 12; ++i) ++seen[next(writer).size() + fcs];
    EXPECT_EQ(seen, (decltype(seen){{64, 7}, {594, 4}, {1518, 1}}));
}

}  // namespace
}  // namespace verbline::traffic
