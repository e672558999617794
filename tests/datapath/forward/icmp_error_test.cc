// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/icmp_error.h"

#include <rte_mbuf.h>

#include <gtest/gtest.h>

#include "datapath/wire/ipv4.h"
#include "tests/support/packet.h"

namespace verbline::forward {
namespace {

using test::bytes_of;
using test::ByteVector;
using test::make_packet;
using test::packet_pool;
using wire::ipv4;

constexpr auto router = ipv4(10, 1, 0, 1);

ByteVector offending(
    std::size_t payload = 100, void (*change)(wire::Ipv4&) = [](wire::Ipv4&) {}, unsigned icmp_type = 8) {
    wire::Ipv4 ip{.total_length = static_cast<std::uint16_t>(20 + payload),
                  .identification = 0x1234,
                  .protocol = wire::IpProtocol::udp,
                  .source = ipv4(10, 9, 0, 2),
                  .destination = ipv4(10, 2, 0, 2)};
    change(ip);
    auto bytes = test::pattern(20 + payload);
    ip.with_checksum().emit(std::span(bytes).first<20>());
    if (payload > 0) bytes[20] = static_cast<std::byte>(icmp_type);
    return bytes;
}

bool answered(const ByteVector& bytes) {
    const test::Packet message(icmp_error(*make_packet(bytes), IcmpError::time_exceeded(), router, *packet_pool()));
    return message != nullptr;
}

TEST(IcmpError, QuotesThePacketItIsAbout) {
    const auto about = offending();
    const test::Packet message(
        icmp_error(*make_packet(about, 33), IcmpError::fragmentation_needed(1400), router, *packet_pool()));
    ASSERT_TRUE(message);
    const auto bytes = bytes_of(message);
    const auto ip = wire::Ipv4::parse(bytes);
    ASSERT_TRUE(ip);
    EXPECT_TRUE(wire::Ipv4::checksum_ok(std::span(bytes).first(20)));
    EXPECT_EQ(ip->total_length, bytes.size());
    EXPECT_EQ(ip->source, router);
    EXPECT_EQ(ip->destination, ipv4(10, 9, 0, 2));
    EXPECT_EQ(ip->protocol, wire::IpProtocol::icmp);
    EXPECT_EQ(ip->dscp >> 3, 6) << "precedence: internetwork control";
    const auto icmp = std::span(bytes).subspan(20);
    EXPECT_EQ(wire::InternetChecksum().add(icmp).value(), 0);
    EXPECT_EQ(wire::Icmp::parse(icmp)->type, 3);
    EXPECT_EQ(wire::Icmp::parse(icmp)->code, 4);
    EXPECT_EQ(wire::load16(icmp, 6), 1400) << "RFC 1191, 4";
    EXPECT_TRUE(std::ranges::equal(icmp.subspan(8), about));
    EXPECT_GE(rte_pktmbuf_headroom(message.get()), 128);
}

TEST(IcmpError, HasTheTypesAndCodesOfTheRfc) {
    const auto is = [](const IcmpError& e, unsigned type, unsigned code) {
        return e.type == type && e.code == code && e.mtu == 0;
    };
    EXPECT_TRUE(is(IcmpError::time_exceeded(), 11, 0));
    EXPECT_TRUE(is(IcmpError::net_unreachable(), 3, 0));
    EXPECT_TRUE(is(IcmpError::host_unreachable(), 3, 1));
    EXPECT_EQ(IcmpError::fragmentation_needed(70'000).mtu, 0xffff);
}

TEST(IcmpError, IsAtMost576BytesLong) {
    const auto about = offending(3000);
    const test::Packet message(icmp_error(*make_packet(about), IcmpError::time_exceeded(), router, *packet_pool()));
    const auto bytes = bytes_of(message);
    EXPECT_EQ(bytes.size(), 576u);
    EXPECT_TRUE(std::ranges::equal(std::span(bytes).subspan(28), std::span(about).first(548)));
}

TEST(IcmpError, AnswersQueriesAndNeverErrors) {
    const auto icmp = [](wire::Ipv4& ip) { ip.protocol = wire::IpProtocol::icmp; };
    for (const unsigned query : {0, 8, 9, 10, 13, 14, 15, 16, 17, 18})
        EXPECT_TRUE(answered(offending(64, icmp, query))) << query;
    for (const unsigned error : {3, 4, 5, 11, 12, 1, 2, 19, 42, 255})
        EXPECT_FALSE(answered(offending(64, icmp, error))) << error;
    EXPECT_FALSE(answered(offending(4, icmp, 8))) << "not to be told";
}

TEST(IcmpError, AnswersOnlyTheFirstFragment) {
    EXPECT_TRUE(answered(offending(64, [](wire::Ipv4& ip) { ip.more_fragments = true; })));
    EXPECT_FALSE(answered(offending(64, [](wire::Ipv4& ip) { ip.fragment_offset = 1; })));
}

TEST(IcmpError, AnswersNobodyWhoIsNotOneHost) {
    EXPECT_TRUE(answered(offending()));
    EXPECT_FALSE(answered(offending(9, [](wire::Ipv4& ip) { ip.destination = ipv4(224, 0, 0, 5); })));
    EXPECT_FALSE(answered(offending(9, [](wire::Ipv4& ip) { ip.destination = ipv4(255, 255, 255, 255); })));
    EXPECT_FALSE(answered(offending(9, [](wire::Ipv4& ip) { ip.source = {}; })));
    EXPECT_FALSE(answered(offending(9, [](wire::Ipv4& ip) { ip.source = ipv4(127, 0, 0, 1); })));
    EXPECT_FALSE(answered(offending(9, [](wire::Ipv4& ip) { ip.source = ipv4(239, 0, 0, 1); })));
    EXPECT_FALSE(answered(offending(9, [](wire::Ipv4& ip) { ip.source = ipv4(240, 0, 0, 1); })));
    EXPECT_FALSE(answered(offending(9, [](wire::Ipv4& ip) { ip.source = ipv4(255, 255, 255, 255); })));
}

TEST(IcmpError, SurvivesEveryTruncation) {
    const auto about = offending(30);
    for (std::size_t size = 1; size < about.size(); ++size) {
        EXPECT_FALSE(answered(ByteVector(about.begin(), about.begin() + static_cast<std::ptrdiff_t>(size))));
    }
}

}  // namespace
}  // namespace verbline::forward
