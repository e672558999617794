// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/envelope.h"

#include <string>

#include <gtest/gtest.h>

#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/lrh.h"
#include "datapath/wire/udp.h"
#include "tests/datapath/link/frames.h"
#include "tests/support/hex.h"
#include "tests/support/link_frame.h"
#include "tests/support/pcap.h"

namespace verbline::link {
namespace {

using test::ByteVector, test::envelope_of, test::frame_on, test::from_hex, test::to_hex, test::Way;
using wire::Ethernet, wire::Ipv4, wire::Ipv6;

const Way& way_named(const std::string& name) {
    static const auto ways = test::ways();
    return *std::ranges::find(ways, name, &Way::name);
}

// Golden frames without the CRCs, which icrc_test.cc and vcrc_test.cc know from elsewhere. Four bytes of payload.
std::string without_trailer(const Way& way) {
    const auto frame = frame_on(way, 4);
    return to_hex(std::span(frame).first(frame.size() - trailer_size(way.from.carrier)));
}
std::string hex(std::string_view text) {
    return to_hex(from_hex(text));
}
const std::string bth_and_payload = "0040ffff0000001100000000 00070e15";

TEST(Envelope, RoceV2OverIpv4) {
    EXPECT_EQ(without_trailer(way_named("RoceV2Ipv4")), hex("020000000002020000000001 0800"
                                                            "4568 0030 1234 4000 07 11 4c85 0a4d0001 0a4d0002"
                                                            "e341 12b7 001c 0000" +
                                                            bth_and_payload));
}

TEST(Envelope, RoceV2OverIpv6WithVlan) {
    EXPECT_EQ(without_trailer(way_named("RoceV2Ipv6Vlan")),
              hex("020000000002020000000001 8100 a064 86dd"
                  "66812345 001c 11 07 fd770000000000000000000000000001 fd770000000000000000000000000002"
                  "e341 12b7 001c 0000" +
                  bth_and_payload));
}

TEST(Envelope, RoceV1) {
    EXPECT_EQ(without_trailer(way_named("RoceV1")),
              hex("020000000002020000000001 8915"
                  "66812345 0014 1b 07 fd770000000000000000000000000001 fd770000000000000000000000000002" +
                  bth_and_payload));
}

TEST(Envelope, SoftIb) {
    EXPECT_EQ(without_trailer(way_named("SoftIb")),
              hex("020000000004020000000003 88b5 0052 0004 0007 0003" + bth_and_payload));
    EXPECT_EQ(without_trailer(way_named("SoftIbGlobal")),
              hex("020000000004020000000003 88b5 0053 0004 0011 0003"
                  "66812345 0014 1b 07 fd770000000000000000000000000001 fd770000000000000000000000000002" +
                  bth_and_payload));
}

TEST(Envelope, EcnAsksRoutersToMarkAndHopLimitZeroIsTheUsual) {
    for (const std::string name : {"RoceV2Ipv4", "RoceV2Ipv6"}) {
        auto way = way_named(name);
        way.to.traffic_class = 0xfd;
        way.to.hop_limit = 0;
        way.from.ecn = true;
        const auto frame = frame_on(way, 0);
        const auto packet = wire::Bytes(frame).subspan(Ethernet::size);
        if (way.from.carrier == Carrier::roce_v2_ipv4) {
            EXPECT_EQ(Ipv4::parse(packet)->ecn, wire::Ecn::capable_0);
            EXPECT_EQ(Ipv4::parse(packet)->dscp, 0x3f);
            EXPECT_EQ(Ipv4::parse(packet)->time_to_live, 64);
            EXPECT_TRUE(Ipv4::checksum_ok(packet.first(Ipv4::size)));
        } else {
            EXPECT_EQ(Ipv6::parse(packet)->ecn, wire::Ecn::capable_0);
            EXPECT_EQ(Ipv6::parse(packet)->dscp, 0x3f);
            EXPECT_EQ(Ipv6::parse(packet)->hop_limit, 64);
        }
    }
}

TEST(Envelope, Ipv4ChecksumIsRightForEveryIdentification) {
    const auto envelope = envelope_of(way_named("RoceV2Ipv4"));
    auto frame = frame_on(way_named("RoceV2Ipv4"), 8);
    for (unsigned id = 0; id < 0x10000; id += 5) {
        test::seal_frame(frame, envelope, static_cast<std::uint16_t>(id));
        const auto header = wire::Bytes(frame).subspan(Ethernet::size, Ipv4::size);
        ASSERT_TRUE(Ipv4::checksum_ok(header)) << id;
        ASSERT_EQ(Ipv4::parse(header, frame.size())->identification, id);
    }
}

TEST(Envelope, MulticastMac) {
    const auto ipv4 = gid_of(wire::ipv4(239, 129, 2, 3));
    EXPECT_EQ(to_hex(multicast_mac(Carrier::roce_v2_ipv4, ipv4).bytes), "01005e010203");
    EXPECT_EQ(to_hex(multicast_mac(Carrier::roce_v1, ipv4).bytes), "3333ef810203");
    EXPECT_EQ(to_hex(multicast_mac(Carrier::roce_v2_ipv6, ipv4).bytes), "3333ef810203");
}

TEST(UdpSourcePort, OfAFlowLabel) {
    EXPECT_EQ(udp_source_port(0x12345, {}, {}), 0xe341);
    EXPECT_EQ(udp_source_port(0xfffff, {}, {}), 0xffc0);
    EXPECT_EQ(udp_source_port(0x3fff, {}, {}), 0xffff);
}

TEST(UdpSourcePort, OfTwoQueuePairsIsTheSameAtBothEnds) {
    const wire::Qpn a{0xfedcba}, b{0x123456};
    EXPECT_EQ(udp_source_port(0, a, b), udp_source_port(0, b, a));
    EXPECT_NE(udp_source_port(0, a, b), udp_source_port(0, a, wire::Qpn{0x123457}));
}

// Two kernels' ibv_rc_pingpong without a flow label, both on their queue pair 0x12: the first packets of the capture.
TEST(UdpSourcePort, IsTheKernels) {
    const auto frames = test::read_pcap(std::string(CAPTURES) + "/rxe-v6.pcap");
    unsigned seen = 0;
    for (const auto& frame : frames) {
        const auto arrival = test::open_frame(frame.bytes);
        if (!arrival) continue;
        const auto bth = wire::Bth::parse(wire::Bytes(frame.bytes).subspan(arrival->bth_at));
        if (bth->dest != wire::Qpn{0x12}) continue;
        const auto udp = wire::Udp::parse(wire::Bytes(frame.bytes).subspan(arrival->bth_at - wire::Udp::size));
        EXPECT_EQ(udp->source_port, udp_source_port(0, bth->dest, bth->dest));
        ++seen;
    }
    EXPECT_EQ(seen, 100u);
}

/// The envelope that the sender of a frame must have used, from the facts in it alone.
Envelope senders_envelope(wire::Bytes frame, const Arrival& arrival) {
    const auto udp = wire::Udp::parse(frame.subspan(arrival.bth_at - wire::Udp::size));
    const auto network = frame.subspan(arrival.network_at);
    wire::AddressHandle to{.sl = service_level(frame, arrival), .dgid = destination_gid(frame, arrival)};
    if (arrival.carrier == Carrier::roce_v2_ipv4) {
        to.hop_limit = Ipv4::parse(network)->time_to_live;
        to.traffic_class = wire::load8(network, 1);
    } else {
        const auto ip = Ipv6::parse(network);
        to.hop_limit = ip->hop_limit;
        to.traffic_class = static_cast<std::uint8_t>(ip->dscp << 2 | static_cast<unsigned>(ip->ecn));
        to.flow_label = ip->flow_label;
    }
    const SourceAddress from{.carrier = arrival.carrier,
                             .mac = source_mac(frame),
                             .vlan = vlan(frame, arrival),
                             .gid = source_gid(frame, arrival)};
    return make_envelope(from, to, Ethernet::parse(frame)->destination, udp->source_port);
}

// Every packet that the kernel's rxe sent, built anew by us, is the same to the last bit.
TEST(Envelope, SealsAsTheKernelDoes) {
    const std::pair<const char*, unsigned> captures[] = {
        {"rxe-rping-2iter", 29}, {"rxe-mckey", 30}, {"rxe-cm-send-write-read-atomic", 483},
        {"rxe-v6", 217},         {"rxe-rnr", 1500}, {"rxe-loss", 73}};
    for (const auto& [file, expected] : captures) {
        unsigned same = 0;
        for (const auto& frame : test::read_pcap(std::string(CAPTURES) + "/" + file + ".pcap")) {
            const auto arrival = test::open_frame(frame.bytes);
            if (!arrival) continue;
            EXPECT_EQ(frame.bytes.size(), arrival->end + wire::icrc_size) << "no padding in these captures";
            const auto envelope = senders_envelope(frame.bytes, *arrival);
            std::uint16_t id = 0;
            if (arrival->carrier == Carrier::roce_v2_ipv4) id = wire::load16(frame.bytes, arrival->network_at + 4);
            ByteVector copy(frame.bytes.size(), std::byte{0xa5});
            std::ranges::copy(wire::Bytes(frame.bytes).first(arrival->end).subspan(arrival->bth_at),
                              copy.begin() + envelope.size);
            test::seal_frame(copy, envelope, id);
            EXPECT_EQ(to_hex(copy), to_hex(frame.bytes));
            ++same;
        }
        EXPECT_EQ(same, expected) << file;
    }
}

TEST(Envelope, InTwoStepsIsTheSame) {
    for (const auto& way : test::ways()) {
        const auto whole = frame_on(way, 21);
        const auto envelope = envelope_of(way);
        auto frame = whole;
        std::ranges::fill(std::span(frame).first(envelope.size), std::byte{0xa5});
        std::ranges::fill(std::span(frame).last(trailer_size(envelope.carrier)), std::byte{0xa5});
        write_headers(frame, envelope, 0x1234);
        write_crcs(frame, sealing_of(envelope));
        EXPECT_EQ(to_hex(frame), to_hex(whole)) << way;
    }
}

}  // namespace
}  // namespace verbline::link
