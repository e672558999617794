// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/icmpv6_error.h"

#include <rte_mbuf.h>

#include <gtest/gtest.h>

#include "datapath/wire/checksum.h"
#include "datapath/wire/ipv6.h"
#include "tests/support/ipv6.h"
#include "tests/support/packet.h"

namespace verbline::forward::over_ipv6_errors {
namespace {

using test::bytes_of;
using test::ByteVector;
using test::ipv6;
using test::make_packet;
using test::packet_pool;
using wire::IpProtocol;

const auto router = ipv6("fd76:1::1"), sender = ipv6("fd76:1::2");

/// A packet with these bytes behind its header, the first of which `next` describes.
ByteVector offending(IpProtocol next, const ByteVector& payload, std::string_view destination = "fd76:2::2",
                     wire::Ipv6Address source = sender) {
    ByteVector bytes(wire::Ipv6::size + payload.size());
    wire::Ipv6{.payload_length = static_cast<std::uint16_t>(payload.size()),
               .next_header = next,
               .source = source,
               .destination = ipv6(destination)}
        .emit(std::span(bytes).first<wire::Ipv6::size>());
    std::ranges::copy(payload, bytes.begin() + wire::Ipv6::size);
    return bytes;
}
ByteVector udp(std::size_t payload = 100) {
    return offending(IpProtocol::udp, test::pattern(payload));
}
ByteVector icmp(unsigned type) {
    return offending(IpProtocol::icmpv6, test::bytes_from(type, 0, 0, 0, 0, 0, 0, 0));
}
bool answered(const ByteVector& bytes, const Icmpv6Error& error = Icmpv6Error::time_exceeded()) {
    const test::Packet message(icmpv6_error(*make_packet(bytes), error, router, *packet_pool()));
    return message != nullptr;
}

TEST(Icmpv6Error, QuotesThePacketItIsAbout) {
    const auto about = udp();
    const test::Packet message(
        icmpv6_error(*make_packet(about, 53), Icmpv6Error::packet_too_big(70'000), router, *packet_pool()));
    ASSERT_TRUE(message);
    const auto bytes = bytes_of(message);
    const auto ip = wire::Ipv6::parse(bytes);
    ASSERT_TRUE(ip);
    EXPECT_EQ(ip->payload_length, bytes.size() - wire::Ipv6::size);
    EXPECT_EQ(ip->source, router);
    EXPECT_EQ(ip->destination, sender);
    EXPECT_EQ(ip->next_header, IpProtocol::icmpv6);
    const auto body = std::span(bytes).subspan(wire::Ipv6::size);
    EXPECT_EQ(wire::InternetChecksum().add_pseudo_header(router, sender, 58, body.size()).add(body).value(), 0);
    const auto header = wire::Icmpv6::parse(body);
    EXPECT_EQ(header->type, 2);
    EXPECT_EQ(header->code, 0);
    EXPECT_EQ(header->word, 70'000u) << "RFC 4443, 3.2: 32 bits";
    EXPECT_TRUE(std::ranges::equal(body.subspan(8), about));
    EXPECT_GE(rte_pktmbuf_headroom(message.get()), 128);
}

TEST(Icmpv6Error, HasTheTypesAndCodesOfTheRfc) {
    const auto is = [](const Icmpv6Error& e, unsigned type, unsigned code) {
        return e.type == type && e.code == code && e.mtu == 0;
    };
    EXPECT_TRUE(is(Icmpv6Error::no_route(), 1, 0));
    EXPECT_TRUE(is(Icmpv6Error::beyond_scope(), 1, 2));
    EXPECT_TRUE(is(Icmpv6Error::address_unreachable(), 1, 3));
    EXPECT_TRUE(is(Icmpv6Error::time_exceeded(), 3, 0));
}

TEST(Icmpv6Error, FitsEveryLink) {
    const auto about = udp(3000);
    const test::Packet message(icmpv6_error(*make_packet(about), Icmpv6Error::no_route(), router, *packet_pool()));
    const auto bytes = bytes_of(message);
    EXPECT_EQ(bytes.size(), 1280u);
    EXPECT_TRUE(std::ranges::equal(std::span(bytes).subspan(48), std::span(about).first(1232)));
}

TEST(Icmpv6Error, AnswersInformationAndNeverErrorsOrRedirects) {
    for (const unsigned type : {128, 129, 130, 133, 135, 200, 255}) EXPECT_TRUE(answered(icmp(type))) << type;
    for (const unsigned type : {0, 1, 2, 3, 4, 100, 127, 137}) EXPECT_FALSE(answered(icmp(type))) << type;
}

TEST(Icmpv6Error, LooksBehindExtensionHeaders) {
    const auto behind = [](IpProtocol header, unsigned type, unsigned offset = 0) {
        return offending(header, test::bytes_from(58, 0, offset >> 5, offset << 3 & 0xff, 0, 0, 0, 0, type, 0, 0, 0));
    };
    for (const auto header :
         {IpProtocol::hop_by_hop, IpProtocol::routing, IpProtocol::destination_options, IpProtocol::fragment}) {
        EXPECT_TRUE(answered(behind(header, 128))) << static_cast<int>(header);
        EXPECT_FALSE(answered(behind(header, 1))) << static_cast<int>(header);
    }
    EXPECT_FALSE(answered(behind(IpProtocol::fragment, 128, 9))) << "of some ICMPv6 message, perhaps an error";
    EXPECT_TRUE(answered(offending(IpProtocol::fragment, test::bytes_from(17, 0, 0, 72, 0, 0, 0, 0))));
    EXPECT_FALSE(answered(offending(IpProtocol::hop_by_hop, test::bytes_from(17, 3, 0, 0, 0, 0, 0, 0)))) << "cut";
    ByteVector chain;
    for (int i = 0; i < 20; ++i) chain.insert(chain.end(), 8, std::byte{0});
    EXPECT_FALSE(answered(offending(IpProtocol::hop_by_hop, chain))) << "endless";
}

TEST(Icmpv6Error, AnswersNobodyWhoIsNotOneHost) {
    for (const auto* source : {"::", "::1", "ff02::1", "::ffff:10.0.0.1"}) {
        EXPECT_FALSE(answered(offending(IpProtocol::udp, test::pattern(9), "fd76:2::2", ipv6(source)))) << source;
    }
}

TEST(Icmpv6Error, SpeaksOfGroupsOnlyWhenAPacketIsTooBig) {
    const auto group = offending(IpProtocol::udp, test::pattern(9), "ff0e::5");
    EXPECT_FALSE(answered(group));
    EXPECT_TRUE(answered(group, Icmpv6Error::packet_too_big(1280))) << "RFC 4443, 2.4 (e.3)";
}

TEST(Icmpv6Error, SurvivesEveryTruncation) {
    const auto about = udp(30);
    for (std::size_t size = 1; size < about.size(); ++size) {
        EXPECT_FALSE(answered(ByteVector(about.begin(), about.begin() + static_cast<std::ptrdiff_t>(size))));
    }
}

}  // namespace
}  // namespace verbline::forward::over_ipv6_errors
