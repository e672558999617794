// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/arrival.h"

#include <algorithm>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "datapath/wire/ethernet.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/ib_packet.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/lrh.h"
#include "datapath/wire/udp.h"
#include "datapath/wire/vcrc.h"
#include "tests/datapath/link/frames.h"
#include "tests/support/link_frame.h"

namespace verbline::link {
namespace {

using test::ByteVector, test::envelope_of, test::frame_on, test::Way;
using wire::Bth, wire::Ethernet, wire::Grh, wire::IcrcOver, wire::Ipv4, wire::Ipv6, wire::Lrh, wire::Udp;

bool is_v2(Carrier carrier) {
    return carrier == Carrier::roce_v2_ipv4 || carrier == Carrier::roce_v2_ipv6;
}

class EveryWay : public testing::TestWithParam<Way> {};

TEST_P(EveryWay, ArrivesAsItWasSentInEverySize) {
    const auto& way = GetParam();
    const auto envelope = envelope_of(way);
    for (std::size_t size = 0; size <= 4096; size += size < 80 || size > 4080 ? 1 : 61) {
        const auto frame = frame_on(envelope, size);
        const auto got = test::open_frame(frame);
        ASSERT_TRUE(got) << size;
        EXPECT_EQ(got->carrier, way.from.carrier);
        EXPECT_EQ(got->network_at, envelope.covered_at);
        EXPECT_EQ(got->bth_at, envelope.size);
        EXPECT_EQ(got->end, frame.size() - trailer_size(way.from.carrier));
        EXPECT_FALSE(got->congestion_experienced);
        EXPECT_EQ(got->global, way.from.carrier != Carrier::soft_ib || way.to.global);
        const auto data = wire::Bytes(frame).first(got->end).subspan(got->bth_at + Bth::size);
        ASSERT_EQ(data.size(), size + (-size & 3));
        EXPECT_TRUE(std::ranges::equal(data.first(size), test::pattern(size)));
    }
}

TEST_P(EveryWay, SaysWhereItCameFrom) {
    const auto& way = GetParam();
    const auto frame = frame_on(way, 8);
    const auto got = test::open_frame(frame);
    ASSERT_TRUE(got);
    const bool soft = way.from.carrier == Carrier::soft_ib;
    EXPECT_EQ(source_gid(frame, *got), got->global ? way.from.gid : wire::Gid{});
    EXPECT_EQ(destination_gid(frame, *got), got->global ? way.to.dgid : wire::Gid{});
    EXPECT_EQ(source_lid(frame, *got), soft ? way.from.lid : wire::Lid{});
    EXPECT_EQ(destination_lid(frame, *got), soft ? way.to.dlid : wire::Lid{});
    EXPECT_EQ(vlan(frame, *got), way.from.vlan);
    // Without a VLAN tag RoCE has none: as mlx5 has it, what is in front of the payload.
    const int route = way.from.carrier == Carrier::roce_v2_ipv4 ? 2 : way.from.carrier == Carrier::roce_v2_ipv6 ? 1 : 0;
    EXPECT_EQ(service_level(frame, *got), soft || way.from.vlan ? way.to.sl : route);
    EXPECT_EQ(source_mac(frame), soft ? soft_ib::mac_of(way.from.lid) : way.from.mac);
}

TEST_P(EveryWay, ALinkOfOneCarrierHasNoOther) {
    const auto frame = frame_on(GetParam(), 8);
    const auto any = test::open_frame(frame);
    ASSERT_TRUE(any);
    for (const auto carrier : {Carrier::roce_v2_ipv4, Carrier::roce_v2_ipv6, Carrier::roce_v1, Carrier::soft_ib}) {
        Arrival arrival;
        const auto discard = open_headers(frame, carrier, arrival);
        if (carrier == any->carrier && !GetParam().from.vlan) {
            ASSERT_FALSE(discard);
            EXPECT_EQ(arrival.bth_at, any->bth_at);
            EXPECT_EQ(arrival.end, any->end);
        } else {
            EXPECT_EQ(discard, Discard::rx_dropped_foreign);
        }
    }
}

TEST_P(EveryWay, MayBePaddedByEthernet) {
    auto frame = frame_on(GetParam(), 0);
    const auto before = test::open_frame(frame);
    frame.resize(frame.size() + 46, std::byte{0x5a});
    const auto got = test::open_frame(frame);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->end, before->end);
}

TEST_P(EveryWay, EveryTruncationIsRefused) {
    const auto frame = frame_on(GetParam(), 21);
    for (std::size_t size = 0; size < frame.size(); ++size) {
        const ByteVector cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
        const auto got = test::open_frame(cut);
        ASSERT_FALSE(got) << size;
        EXPECT_EQ(got.error(), Discard::rx_dropped_truncated) << size;
    }
}

// Behind the lengths and addresses that are judged before, any wrong bit is the ICRC's to find; on the soft fabric the
// VCRC is first.
TEST_P(EveryWay, EveryFlippedBitIsFound) {
    const auto frame = frame_on(GetParam(), 40);
    const auto envelope = envelope_of(GetParam());
    const auto carrier = GetParam().from.carrier;
    for (std::size_t bit = envelope.covered_at * 8u; bit < frame.size() * 8; ++bit) {
        auto bad = frame;
        bad[bit / 8] ^= static_cast<std::byte>(0x80 >> bit % 8);
        const auto at = bit / 8;
        const bool congestion_byte = at == envelope.size + 4u;
        if (carrier == Carrier::soft_ib) {
            ASSERT_FALSE(test::open_frame(bad)) << at;
        } else if (at >= envelope.size && !congestion_byte) {
            const auto got = test::open_frame(bad);
            ASSERT_FALSE(got) << at;
            EXPECT_EQ(got.error(), Discard::rx_dropped_icrc) << at;
        } else if (const auto got = test::open_frame(bad)) {
            auto masked = bad;
            wire::write_icrc(carrier == Carrier::roce_v1        ? IcrcOver::grh
                             : carrier == Carrier::roce_v2_ipv4 ? IcrcOver::ipv4
                                                                : IcrcOver::ipv6,
                             wire::MutableBytes(masked).subspan(envelope.covered_at));
            EXPECT_EQ(masked, bad) << "accepted, though not one of the bits that routers may change: byte " << at;
        }
    }
}

// On the soft fabric a switch makes the VCRC anew: damage before it is the ICRC's.
TEST_P(EveryWay, DamageBeforeTheLastLinkIsFoundByTheIcrc) {
    if (GetParam().from.carrier != Carrier::soft_ib) return;
    auto frame = frame_on(GetParam(), 40);
    const auto packet = wire::MutableBytes(frame).subspan(Ethernet::size);
    const auto payload_at = test::open_frame(frame)->end - 1;
    const ByteVector icrc(frame.end() - 6, frame.end() - 2);
    frame[payload_at] ^= std::byte{1};
    wire::seal(packet);  // both CRCs fit ...
    std::ranges::copy(icrc, frame.end() - 6);
    wire::Vcrc vcrc;  // ... but only the last is right
    vcrc.add(packet.first(packet.size() - wire::vcrc_size));
    std::ranges::copy(vcrc.bytes(), frame.end() - 2);
    EXPECT_EQ(test::open_frame(frame).error(), Discard::rx_dropped_icrc);
    frame.back() ^= std::byte{1};
    EXPECT_EQ(test::open_frame(frame).error(), Discard::rx_dropped_vcrc);
}

TEST_P(EveryWay, ShowsItsRouteToUdReceivers) {
    const auto frame = frame_on(GetParam(), 8);
    const auto got = test::open_frame(frame);
    ASSERT_TRUE(got);
    const auto shown = route_header(frame, *got);
    if (!got->global) {
        EXPECT_TRUE(shown.empty());
        return;
    }
    EXPECT_EQ(shown.data(), frame.data() + got->network_at);
    EXPECT_EQ(shown.size(), got->carrier == Carrier::roce_v2_ipv4 ? Ipv4::size : Grh::size);
}

TEST_P(EveryWay, AnswersComeFromTheOtherEnd) {
    const auto& way = GetParam();
    const auto ours = envelope_of(way);
    auto back = way;
    std::swap(back.from.gid, back.to.dgid);
    std::swap(back.from.lid, back.to.dlid);
    back.from.mac = test::their_mac;
    const auto is_answer = [&](const Way& from) {
        const auto frame = frame_on(from, 8);
        return answers(frame, *test::open_frame(frame), ours);
    };
    EXPECT_TRUE(is_answer(back));
    EXPECT_FALSE(is_answer(way));
    for (const bool local : {false, true}) {
        auto stranger = back;
        const auto other = [](auto& bytes, std::size_t at) { bytes[at] ^= std::byte{1}; };
        if (ours.carrier == Carrier::soft_ib && !way.to.global) {
            (local ? stranger.to.dlid : stranger.from.lid) = wire::Lid{9};
        } else {
            other(local ? stranger.to.dgid.bytes : stranger.from.gid.bytes, 15);
        }
        EXPECT_FALSE(is_answer(stranger));
    }
    for (const auto& another : test::ways()) {
        const auto& theirs = envelope_of(another);
        if (theirs.carrier == ours.carrier && another.to.global == way.to.global) continue;
        const auto frame = frame_on(back, 8);
        EXPECT_FALSE(answers(frame, *test::open_frame(frame), theirs)) << another;
    }
}

TEST_P(EveryWay, SaysWhenItMetCongestion) {
    auto way = GetParam();
    const bool ip = is_v2(way.from.carrier);
    way.to.traffic_class = 3;
    EXPECT_EQ(test::open_frame(frame_on(way, 8))->congestion_experienced, ip);
    const auto marked = frame_on(envelope_of(GetParam()), 8, Bth{.fecn = true});
    EXPECT_EQ(test::open_frame(marked)->congestion_experienced, !ip);
}

TEST_P(EveryWay, RefusesWhatIsNoBth) {
    const auto envelope = envelope_of(GetParam());
    auto frame = frame_on(envelope, 0);
    const auto resealed = [&](unsigned flags) {
        frame[envelope.size + 1u] = static_cast<std::byte>(flags);
        test::seal_frame(frame, envelope, 0);
        return test::open_frame(frame);
    };
    EXPECT_TRUE(resealed(0xc0));
    EXPECT_EQ(resealed(0x01).error(), Discard::rx_dropped_bth) << "another transport version";
    EXPECT_EQ(resealed(0x10).error(), Discard::rx_dropped_bth) << "padding, but no payload";
}

INSTANTIATE_TEST_SUITE_P(Carriers, EveryWay, testing::ValuesIn(test::ways()),
                         [](const auto& parameter) { return parameter.param.name; });

/// A frame that is right but for one thing.
struct Hostile {
    std::string name;
    std::string way;
    std::function<void(wire::MutableBytes packet)> harm;  ///< from the network header on
    Discard expected;

    friend std::ostream& operator<<(std::ostream& out, const Hostile& hostile) { return out << hostile.name; }
};

auto put8(std::size_t at, unsigned value) {
    return [=](wire::MutableBytes packet) { wire::store8(packet, at, value); };
}
auto put16(std::size_t at, unsigned value) {
    return [=](wire::MutableBytes packet) { wire::store16(packet, at, value); };
}

class Refused : public testing::TestWithParam<Hostile> {};

TEST_P(Refused, DamagedFramesReportTheExpectedReason) {
    const auto ways = test::ways();
    const auto& way = *std::ranges::find(ways, GetParam().way, &Way::name);
    auto frame = frame_on(way, 8);
    ASSERT_TRUE(test::open_frame(frame));
    GetParam().harm(wire::MutableBytes(frame).subspan(Ethernet::size));
    EXPECT_EQ(test::open_frame(frame).error(), GetParam().expected);
}

// Frames of 8 bytes of payload: 52 bytes of IPv4 packet, 32 behind an IPv6 header.
const Hostile hostile[] = {
    {"EtherType", "RoceV2Ipv4", [](wire::MutableBytes p) { p.data()[-1] = std::byte{6}; }, Discard::rx_dropped_foreign},
    {"Ipv4Version", "RoceV2Ipv4", put8(0, 0x55), Discard::rx_dropped_ip_version},
    {"Ipv4HeaderTooShort", "RoceV2Ipv4", put8(0, 0x44), Discard::rx_dropped_length},
    {"Ipv4Protocol", "RoceV2Ipv4", put8(9, 6), Discard::rx_dropped_foreign},
    {"Ipv4OptionsOfAnother", "RoceV2Ipv4", put8(0, 0x46), Discard::rx_dropped_foreign},
    {"Ipv4Options", "RoceV2Ipv4", [](auto p) { put8(0, 0x46)(p), put16(26, 4791)(p); }, Discard::rx_dropped_ip_options},
    {"Ipv4FirstFragment", "RoceV2Ipv4", put16(6, 0x2000), Discard::rx_dropped_ip_fragment},
    {"Ipv4LaterFragment", "RoceV2Ipv4", put16(6, 0x0003), Discard::rx_dropped_ip_fragment},
    {"Ipv4FirstFragmentOfAnother", "RoceV2Ipv4", [](auto p) { put16(6, 0x2000)(p), put16(22, 53)(p); },
     Discard::rx_dropped_foreign},
    {"Ipv4TooLong", "RoceV2Ipv4", [](auto p) { put16(2, 56)(p), put16(24, 36)(p); }, Discard::rx_dropped_truncated},
    {"Ipv4TooShortForABth", "RoceV2Ipv4", [](auto p) { put16(2, 40)(p), put16(24, 20)(p); },
     Discard::rx_dropped_length},
    {"Ipv4NotInWords", "RoceV2Ipv4", [](auto p) { put16(2, 50)(p), put16(24, 30)(p); }, Discard::rx_dropped_length},
    {"Ipv4ShorterThanItsHeader", "RoceV2Ipv4", put16(2, 12), Discard::rx_dropped_length},
    {"Ipv4Checksum", "RoceV2Ipv4", put16(10, 0xbeef), Discard::rx_dropped_ip_checksum},
    {"UdpPort", "RoceV2Ipv4", put16(22, 53), Discard::rx_dropped_foreign},
    {"UdpLength", "RoceV2Ipv4", put16(24, 28), Discard::rx_dropped_length},
    {"Ipv6Version", "RoceV2Ipv6", put8(0, 0x40), Discard::rx_dropped_ip_version},
    {"Ipv6ExtensionHeader", "RoceV2Ipv6", put8(6, 0), Discard::rx_dropped_foreign},
    {"Ipv6UdpPort", "RoceV2Ipv6", put16(42, 53), Discard::rx_dropped_foreign},
    {"Ipv6UdpLength", "RoceV2Ipv6", put16(44, 28), Discard::rx_dropped_length},
    {"Ipv6TooLong", "RoceV2Ipv6", [](auto p) { put16(4, 36)(p), put16(44, 36)(p); }, Discard::rx_dropped_truncated},
    {"Ipv6TooShortForABth", "RoceV2Ipv6", [](auto p) { put16(4, 20)(p), put16(44, 20)(p); },
     Discard::rx_dropped_length},
    {"GrhVersion", "RoceV1", put8(0, 0x50), Discard::rx_dropped_ip_version},
    {"GrhNextHeader", "RoceV1", put8(6, 0x3b), Discard::rx_dropped_grh},
    {"GrhTooLong", "RoceV1", put16(4, 28), Discard::rx_dropped_truncated},
    {"GrhTooShortForABth", "RoceV1", put16(4, 12), Discard::rx_dropped_length},
    {"GrhNotInWords", "RoceV1", put16(4, 22), Discard::rx_dropped_length},
    {"LrhVersion", "SoftIb", put8(0, 1), Discard::rx_dropped_lrh},
    {"LrhRaw", "SoftIb", put8(1, 0x50), Discard::rx_dropped_lrh},
    {"LrhTooShortForABth", "SoftIb", put16(4, 5), Discard::rx_dropped_lrh},
};
INSTANTIATE_TEST_SUITE_P(Frames, Refused, testing::ValuesIn(hostile),
                         [](const auto& parameter) { return parameter.param.name; });

TEST(Arrival, UdpChecksumMayBeAnything) {
    for (const std::string name : {"RoceV2Ipv4", "RoceV2Ipv6"}) {
        const auto ways = test::ways();
        auto frame = frame_on(*std::ranges::find(ways, name, &Way::name), 8);
        wire::store16(frame, test::open_frame(frame)->bth_at - 2, 0xbeef);
        EXPECT_TRUE(test::open_frame(frame)) << name;
    }
}

TEST(Arrival, PriorityTagIsNoVlan) {
    auto way = test::ways()[1];
    way.from.vlan = 0;
    const auto frame = frame_on(way, 8);
    ASSERT_TRUE(test::open_frame(frame));
    EXPECT_EQ(vlan(frame, *test::open_frame(frame)), std::nullopt);
    EXPECT_EQ(service_level(frame, *test::open_frame(frame)), way.to.sl);
}

TEST(Arrival, FramesBeyond64KilobytesAreRefused) {
    auto frame = frame_on(test::ways()[0], 8);
    frame.resize(70000);
    wire::store16(frame, Ethernet::size + 2, 0xfffc);
    wire::store16(frame, Ethernet::size + 24, 0xfffc - Ipv4::size);
    EXPECT_EQ(test::open_frame(frame).error(), Discard::rx_dropped_truncated);
}

}  // namespace
}  // namespace verbline::link
