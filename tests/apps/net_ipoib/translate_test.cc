// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/translate.h"

#include <array>
#include <random>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/arp.h"
#include "datapath/neighbour/discovery.h"
#include "datapath/wire/icmpv6.h"

namespace verbline::net_ipoib {
namespace {

using wire::EthernetArp, wire::IpoibAddress, wire::IpoibArp, wire::MacAddress;
using enum Untranslated;
namespace nd = neighbour;

constexpr MacAddress our_mac{{std::byte{2}, {}, {}, {}, {}, std::byte{1}}};
const IpoibAddress our_link{.qpn = wire::Qpn{0x48}, .gid = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{1})};
const IpoibAddress remote{.qpn = wire::Qpn{0x77}, .gid = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{2})};
constexpr auto our_ip = wire::ipv4(10, 2, 0, 1), remote_ip = wire::ipv4(10, 2, 0, 2);
const wire::Gid our_ipv6 = wire::Gid::of(0xfd76'0000'0000'0000, wire::Guid{1});
const wire::Gid remote_ipv6 = wire::Gid::of(0xfd76'0000'0000'0000, wire::Guid{2});

class Translate : public testing::Test {
protected:
    template <class Arp>
    static Packet bytes(const Arp& arp) {
        Packet out(Arp::size);
        arp.emit(std::span(out).template first<Arp::size>());
        return out;
    }
    static Packet bytes(const nd::Message& message, bool unicast) {
        Packet out(nd::max_discovery_size);
        std::visit([&]<class Address>(const Address&) { out.resize(nd::discovery_size<Address>); }, *message.at);
        out.resize(nd::write_discovery(out, message, unicast));
        return out;
    }
    /// A message of Neighbour Discovery with this body: type, code, checksum ...
    static Packet discovery(const Packet& body) {
        Packet out(wire::Ipv6::size);
        out.insert(out.end(), body.begin(), body.end());
        nd::finish_discovery(out, link::ipv6_of(our_ipv6), link::ipv6_of(remote_ipv6));
        return out;
    }

    const OwnAddresses own{our_mac, our_link};
    ProxyAddresses hosts;
    const MacAddress remote_mac = hosts.of(remote).mac;
};

TEST_F(Translate, RequestOfTheProgram) {
    const auto arp = arp_to_link(
        bytes(EthernetArp{
            .operation = wire::ArpOperation::request, .sender_link = our_mac, .sender = our_ip, .target = remote_ip}),
        own, hosts);
    ASSERT_TRUE(arp);
    const IpoibArp expected{
        .operation = wire::ArpOperation::request, .sender_link = our_link, .sender = our_ip, .target = remote_ip};
    EXPECT_EQ(IpoibArp::parse(*arp), expected);
}

TEST_F(Translate, ReplyOfTheProgramNamesTheHost) {
    const auto arp = arp_to_link(bytes(EthernetArp{.operation = wire::ArpOperation::reply,
                                                   .sender_link = our_mac,
                                                   .sender = our_ip,
                                                   .target_link = remote_mac,
                                                   .target = remote_ip}),
                                 own, hosts);
    ASSERT_TRUE(arp);
    EXPECT_EQ(IpoibArp::parse(*arp)->target_link, remote);
}

TEST_F(Translate, RequestWithABroadcastTargetAndPadding) {
    auto padded = bytes(EthernetArp{.operation = wire::ArpOperation::request,
                                    .sender_link = our_mac,
                                    .sender = our_ip,
                                    .target_link = wire::broadcast_mac,
                                    .target = remote_ip});
    padded.resize(46);
    const auto arp = arp_to_link(padded, own, hosts);
    ASSERT_TRUE(arp);
    EXPECT_EQ(arp->size(), IpoibArp::size);
    EXPECT_EQ(IpoibArp::parse(*arp)->target_link, IpoibAddress{});
}

TEST_F(Translate, ReplyOfAHost) {
    ProxyAddresses none;
    const auto got = arp_from_link(bytes(IpoibArp{.operation = wire::ArpOperation::reply,
                                                  .sender_link = remote,
                                                  .sender = remote_ip,
                                                  .target_link = our_link,
                                                  .target = our_ip}),
                                   own, none);
    ASSERT_TRUE(got);
    const EthernetArp expected{.operation = wire::ArpOperation::reply,
                               .sender_link = remote_mac,
                               .sender = remote_ip,
                               .target_link = our_mac,
                               .target = our_ip};
    EXPECT_EQ(EthernetArp::parse(got->packet), expected);
    EXPECT_EQ(got->named, remote);
    EXPECT_EQ(none.find(remote_mac), remote) << "it can be answered";
}

TEST_F(Translate, ArpThatIsRefused) {
    const EthernetArp good{.operation = wire::ArpOperation::reply,
                           .sender_link = our_mac,
                           .sender = our_ip,
                           .target_link = remote_mac,
                           .target = remote_ip};
    const auto refusal = [&](const Packet& packet) { return arp_to_link(packet, own, hosts).error(); };
    auto other = good;
    other.sender_link.bytes[5] = std::byte{9};
    EXPECT_EQ(refusal(bytes(other)), tx_dropped_other_mac);
    other = good, other.target_link.bytes[5] ^= std::byte{1};
    EXPECT_EQ(refusal(bytes(other)), tx_dropped_named_unknown);
    auto short_one = bytes(good);
    short_one.pop_back();
    EXPECT_EQ(refusal(short_one), tx_dropped_arp_malformed);
    EXPECT_EQ(refusal({}), tx_dropped_arp_malformed);
    EXPECT_EQ(refusal(bytes(IpoibArp{.operation = wire::ArpOperation::request, .sender_link = our_link})),
              tx_dropped_arp_malformed)
        << "of another hardware type";
    auto length = bytes(good);
    length[4] = std::byte{20};
    EXPECT_EQ(refusal(length), tx_dropped_arp_malformed);
}

TEST_F(Translate, ArpOfTheLinkThatIsRefused) {
    const IpoibArp good{.operation = wire::ArpOperation::request, .sender_link = remote, .sender = remote_ip};
    const auto refusal = [&](const Packet& packet) { return arp_from_link(packet, own, hosts).error(); };
    auto other = good;
    other.sender_link = our_link;
    EXPECT_EQ(refusal(bytes(other)), rx_dropped_own_address);
    other.sender_link.flags = IpoibAddress::connected_rc;
    EXPECT_EQ(refusal(bytes(other)), rx_dropped_own_address) << "whatever its flags";
    other = good, other.sender_link.qpn = wire::multicast_qpn;
    EXPECT_EQ(refusal(bytes(other)), rx_dropped_arp_malformed) << "no interface has that queue pair";
    auto short_one = bytes(good);
    short_one.resize(EthernetArp::size);
    EXPECT_EQ(refusal(short_one), rx_dropped_arp_malformed);
    EXPECT_EQ(hosts.size(), 1u) << "no refused packet makes a remote";
}

TEST_F(Translate, SolicitationOfTheProgramIsValidOnTheLink) {
    const auto sent = discovery_to_link(bytes(nd::request(our_mac, our_ipv6, remote_ipv6), false), own, hosts);
    ASSERT_TRUE(sent);
    const auto read = nd::read_discovery<IpoibAddress>(*sent);
    EXPECT_EQ(read.kind, nd::Kind::resolution) << "hop limit, checksum and option are as they must be";
    EXPECT_EQ(read.message, nd::request(our_link, our_ipv6, remote_ipv6));
}

TEST_F(Translate, AdvertisementOfAHostIsValidForTheProgram) {
    ProxyAddresses none;
    const auto got = discovery_from_link(bytes(nd::reply(remote, remote_ipv6, our_ipv6), true), own, none);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->named, remote);
    const auto read = nd::read_discovery<MacAddress>(got->packet);
    EXPECT_EQ(read.kind, nd::Kind::resolution);
    EXPECT_EQ(read.message, nd::reply(remote_mac, remote_ipv6, our_ipv6));
}

TEST_F(Translate, ProbeWithoutAnAddressStaysAsItIs) {
    const auto probe = bytes(nd::request(our_mac, std::nullopt, our_ipv6), false);
    EXPECT_EQ(discovery_to_link(probe, own, hosts), probe);
    const auto got = discovery_from_link(probe, own, hosts);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->packet, probe);
    EXPECT_EQ(got->named, std::nullopt);
}

/// Flags, and options of other kinds, are none of ours.
TEST_F(Translate, RouterAdvertisementKeepsAllElse) {
    Packet body(wire::RouterAdvertisement::size);
    const wire::RouterAdvertisement advertisement{.hop_limit = 64, .managed = true, .lifetime = 1800};
    advertisement.emit(std::span(body).first<wire::RouterAdvertisement::size>());
    const Packet mtu{std::byte{5}, std::byte{1}, {}, {}, {}, {}, std::byte{0x07}, std::byte{0xfc}};
    body.insert(body.end(), mtu.begin(), mtu.end());
    using Option = wire::NdLinkAddress<IpoibAddress>;
    body.resize(body.size() + Option::size);
    Option{.address = remote}.emit(std::span(body).last<Option::size>());
    const auto got = discovery_from_link(discovery(body), own, hosts);
    ASSERT_TRUE(got);
    const auto icmp = wire::Bytes(got->packet).subspan(wire::Ipv6::size);
    const auto read = wire::RouterAdvertisement::parse(icmp);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->lifetime, 1800);
    EXPECT_TRUE(read->managed);
    EXPECT_TRUE(std::ranges::equal(icmp.subspan(16, 8), mtu));
    EXPECT_EQ(wire::NdLinkAddress<MacAddress>::parse(icmp.subspan(24))->address, remote_mac);
    EXPECT_EQ(icmp.size(), 32u);
    EXPECT_TRUE(nd::genuine_discovery(*wire::Ipv6::parse(got->packet), icmp));
}

/// A redirect names a third remote: from the program, one whose MAC address stands for one.
TEST_F(Translate, RedirectNamesAThirdHost) {
    Packet body(wire::NdRedirect::size);
    wire::NdRedirect{}.emit(std::span(body).first<wire::NdRedirect::size>());
    using Option = wire::NdLinkAddress<MacAddress>;
    body.resize(body.size() + Option::size);
    const Option target{.type = wire::nd_option::target_link_address, .address = remote_mac};
    target.emit(std::span(body).last<Option::size>());
    const auto sent = discovery_to_link(discovery(body), own, hosts);
    ASSERT_TRUE(sent);
    const auto option = wire::Bytes(*sent).subspan(wire::Ipv6::size + wire::NdRedirect::size);
    EXPECT_EQ(wire::NdLinkAddress<IpoibAddress>::parse(option)->address, remote);
    auto unknown = target;
    unknown.address.bytes[5] ^= std::byte{1};
    unknown.emit(std::span(body).last<Option::size>());
    EXPECT_EQ(discovery_to_link(discovery(body), own, hosts).error(), tx_dropped_named_unknown);
}

TEST_F(Translate, DiscoveryThatIsRefused) {
    const auto refusal = [&](const Packet& packet) { return discovery_to_link(packet, own, hosts).error(); };
    auto other_mac = our_mac;
    other_mac.bytes[5] = std::byte{9};
    EXPECT_EQ(refusal(bytes(nd::request(other_mac, our_ipv6, remote_ipv6), false)), tx_dropped_other_mac);
    EXPECT_EQ(refusal(bytes(nd::reply(other_mac, our_ipv6, remote_ipv6), true)), tx_dropped_other_mac);
    auto checksum = bytes(nd::request(our_mac, our_ipv6, remote_ipv6), false);
    checksum.back() ^= std::byte{1};
    EXPECT_EQ(refusal(checksum), tx_dropped_nd_malformed);
    EXPECT_EQ(refusal(bytes(nd::request(our_link, our_ipv6, remote_ipv6), false)), tx_dropped_nd_malformed)
        << "an option of the other kind of link";
    EXPECT_EQ(discovery_from_link(bytes(nd::request(our_link, our_ipv6, remote_ipv6), false), own, hosts).error(),
              rx_dropped_own_address);
    auto passed_on = bytes(nd::request(our_mac, our_ipv6, remote_ipv6), false);
    passed_on[7] = std::byte{254};
    EXPECT_EQ(refusal(passed_on), tx_dropped_nd_malformed) << "by a router";
}

/// Cut anywhere, and with any byte changed, nothing is read beyond the packet, and what comes out is valid.
TEST_F(Translate, HostileBytes) {
    std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same each time
    const std::array packets{bytes(nd::request(remote, remote_ipv6, our_ipv6), false),
                             bytes(nd::reply(remote, remote_ipv6, our_ipv6), true),
                             bytes(IpoibArp{.operation = wire::ArpOperation::request, .sender_link = remote})};
    for (const auto& good : packets) {
        for (std::size_t size = 0; size < good.size(); ++size) {
            const Packet cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
            EXPECT_FALSE(discovery_from_link(cut, own, hosts)) << size;
            EXPECT_FALSE(arp_from_link(cut, own, hosts)) << size;
        }
        for (int i = 0; i < 20'000; ++i) {
            auto changed = good;
            for (int n = 0; n < 3; ++n) changed[random() % changed.size()] = static_cast<std::byte>(random());
            // With a right checksum the options are read as well.
            if (i % 2 == 0 && changed.size() > wire::Ipv6::size + 8)
                nd::finish_discovery(changed, link::ipv6_of(remote_ipv6), link::ipv6_of(our_ipv6));
            const auto got = discovery_from_link(changed, own, hosts);
            EXPECT_TRUE(!got || is_discovery(got->packet));
            (void)arp_from_link(changed, own, hosts);
        }
    }
    EXPECT_LE(hosts.size(), ProxyAddresses::default_capacity);
}

TEST_F(Translate, OptionsOfLengthZeroEnd) {
    Packet body(wire::Icmpv6::size);
    body[0] = static_cast<std::byte>(wire::icmpv6_type::router_solicitation);
    body.insert(body.end(), 8, std::byte{0});
    EXPECT_EQ(discovery_from_link(discovery(body), own, hosts).error(), rx_dropped_nd_malformed);
    EXPECT_EQ(discovery_to_link(discovery(body), own, hosts).error(), tx_dropped_nd_malformed);
}

}  // namespace
}  // namespace verbline::net_ipoib
