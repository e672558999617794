// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/soft_ib.h"

#include <gtest/gtest.h>

#include "datapath/link/mbuf.h"
#include "datapath/wire/ethernet.h"
#include "tests/support/packet.h"

namespace verbline::link::soft_ib {
namespace {

using test::ByteVector, test::bytes_of, test::make_packet, test::Packet, test::pattern;

constexpr auto gid_of(unsigned n) {
    return wire::Gid::of(wire::default_subnet_prefix, wire::Guid{n});
}
constexpr Source us{.lid = wire::Lid{3}, .gid = gid_of(0x100005), .qpn = wire::Qpn{0x48}, .pkey = wire::PKey{0xffff}};

Destination unicast() {
    return {.address = {.dlid = wire::Lid{4}, .sl = 2}, .qpn = wire::Qpn{0x49}, .qkey = wire::QKey{0xb1b}};
}

Destination multicast() {
    return {.address = {.dlid = wire::Lid{0xc000}, .global = true, .dgid = gid_of(7), .hop_limit = 1},
            .qpn = wire::Qpn{0x49},
            .qkey = wire::QKey{0xb1b}};
}

Packet frame(const Destination& to, std::size_t payload, std::uint32_t psn = 1) {
    auto packet = make_packet(pattern(payload));
    EXPECT_TRUE(prepend(*packet, ud_header(us, to)));
    EXPECT_TRUE(finish(*packet, wire::Psn(psn)));
    return packet;
}

class EverySize : public testing::TestWithParam<std::size_t> {};

TEST_P(EverySize, ArrivesAsItWasSent) {
    for (const auto& to : {unicast(), multicast()}) {
        const auto bytes = bytes_of(frame(to, GetParam()));
        const auto got = parse(bytes);
        ASSERT_TRUE(got);
        EXPECT_EQ(got->slid, us.lid);
        EXPECT_EQ(got->dlid, to.address.dlid);
        EXPECT_EQ(got->sl, to.address.sl);
        EXPECT_EQ(got->source, us.qpn);
        EXPECT_EQ(got->destination, to.address.global ? wire::multicast_qpn : to.qpn);
        EXPECT_EQ(got->qkey, to.qkey);
        EXPECT_EQ(got->pkey, us.pkey);
        EXPECT_EQ(got->global, to.address.global);
        EXPECT_EQ(got->dgid, to.address.dgid);
        const auto payload = wire::Bytes(bytes).subspan(got->payload_offset, got->payload_size);
        EXPECT_TRUE(std::ranges::equal(payload, pattern(GetParam())));
    }
}

INSTANTIATE_TEST_SUITE_P(Payloads, EverySize, testing::Values(1, 2, 3, 4, 5, 32, 63, 1500, 2047, 2048));

TEST(SoftIb, EthernetCarriesTheLids) {
    const auto header = wire::Ethernet::parse(bytes_of(frame(multicast(), 8)));
    ASSERT_TRUE(header);
    EXPECT_EQ(header->type, wire::ether_type::soft_ib);
    EXPECT_TRUE(header->destination.multicast());
    EXPECT_EQ(header->source, mac_of(us.lid));
}

TEST(SoftIb, AcceptsEthernetPadding) {
    auto bytes = bytes_of(frame(unicast(), 4));
    bytes.resize(64);
    ASSERT_TRUE(parse(bytes));
    EXPECT_EQ(parse(bytes)->payload_size, 4);
}

TEST(SoftIb, RefusesEveryTruncation) {
    for (const auto& to : {unicast(), multicast()}) {
        const auto bytes = bytes_of(frame(to, 21));
        for (std::size_t n = 0; n < bytes.size(); ++n) {
            const auto got = parse(wire::Bytes(bytes).first(n));
            ASSERT_FALSE(got);
            EXPECT_EQ(got.error(), Discard::rx_dropped_truncated) << n;
        }
    }
}

// The Ethernet header is covered by Ethernet's own check; from the LRH on, the CRCs must find any single wrong bit.
TEST(SoftIb, RefusesEveryFlippedBit) {
    const auto good = bytes_of(frame(multicast(), 40));
    for (std::size_t bit = 14 * 8; bit < good.size() * 8; ++bit) {
        auto bad = good;
        bad[bit / 8] ^= static_cast<std::byte>(0x80 >> bit % 8);
        EXPECT_FALSE(parse(bad)) << "bit " << bit % 8 << " of byte " << bit / 8;
    }
}

TEST(SoftIb, NamesForeignFrames) {
    auto bytes = bytes_of(frame(unicast(), 4));
    bytes[12] = std::byte{8}, bytes[13] = std::byte{0};
    EXPECT_EQ(parse(bytes).error(), Discard::rx_dropped_foreign);
}

TEST(SoftIb, RefusesAPacketWithoutRoomForItsTrailer) {
    auto packet = make_packet(pattern(16));
    ASSERT_TRUE(prepend(*packet, ud_header(us, unicast())));
    ASSERT_NE(rte_pktmbuf_append(packet.get(), rte_pktmbuf_tailroom(packet.get())), nullptr);
    const auto before = packet->pkt_len;
    EXPECT_FALSE(finish(*packet, wire::Psn(1)));
    EXPECT_EQ(packet->pkt_len, before);
}

}  // namespace
}  // namespace verbline::link::soft_ib
