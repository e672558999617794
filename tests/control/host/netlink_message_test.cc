// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/netlink_message.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/nexthop.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include "control/host/netlink_socket.h"
#include "datapath/link/ip_gid.h"
#include "tests/support/ipv6.h"

namespace verbline::host {
namespace {

using test::ipv6;

/// A message as the kernel would send it.
template <class Header>
struct Sent {
    NetlinkMessage message;

    Sent(int type, const Header& header, int flags = 0) : message(nlmsg_alloc_simple(type, flags)) {
        Header copy = header;
        nlmsg_append(message.get(), &copy, sizeof(copy), NLMSG_ALIGNTO);
    }
    const Sent& with(int attribute, const wire::Ipv6Address& value) const {
        nla_put(message.get(), attribute, static_cast<int>(value.bytes.size()), value.bytes.data());
        return *this;
    }
    const Sent& with(int attribute, std::uint32_t value) const {
        nla_put_u32(message.get(), attribute, value);
        return *this;
    }
    std::optional<KernelEvent> parse(bool dumped = false) const {
        return parse_kernel_message(*nlmsg_hdr(message.get()), dumped);
    }
};

Sent<rtmsg> route(int flags = 0, unsigned char family = AF_INET, unsigned route_flags = 0) {
    Sent<rtmsg> sent(RTM_NEWROUTE,
                     {.rtm_family = family,
                      .rtm_dst_len = 16,
                      .rtm_table = RT_TABLE_MAIN,
                      .rtm_type = RTN_UNICAST,
                      .rtm_flags = route_flags},
                     flags);
    sent.with(RTA_DST, htonl(0x0a050000)).with(RTA_OIF, 3);
    return sent;
}
RouteAdded added(const Sent<rtmsg>& sent, bool dumped = false) {
    return std::get<RouteAdded>(sent.parse(dumped).value());
}

TEST(NetlinkMessage, ReadsARoute) {
    const auto event = added(route().with(RTA_GATEWAY, htonl(0x0a010002)).with(RTA_PRIORITY, 7));
    EXPECT_EQ(event.route.prefix, (wire::Ipv4Prefix{wire::ipv4(10, 5, 0, 0), 16}));
    EXPECT_EQ(event.route.metric, 7u);
    ASSERT_EQ(event.route.hops.size(), 1u);
    EXPECT_EQ(event.route.hops[0], (Hop{3, wire::ipv4(10, 1, 0, 2), true}));
}

TEST(NetlinkMessage, ParsesPlaceFromMessageFlags) {
    EXPECT_EQ(added(route(NLM_F_EXCL)).place, Place::first);
    EXPECT_EQ(added(route(NLM_F_EXCL | NLM_F_APPEND)).place, Place::last);
    EXPECT_EQ(added(route(NLM_F_REPLACE)).place, Place::instead_of_first);
    EXPECT_EQ(added(route(NLM_F_MULTI), true).place, Place::last);
}

/// As struct rtvia.
struct Via {
    std::uint16_t family = AF_INET6;
    wire::Ipv6Address address = ipv6("fe80::2");
};
static_assert(sizeof(Via) == 18);

/// RFC 8950.
Sent<rtmsg> by_way_of(std::uint16_t family) {
    const Via via{.family = family};
    auto sent = route();
    nla_put(sent.message.get(), RTA_VIA, sizeof(via), &via);
    return sent;
}

TEST(NetlinkMessage, KnowsHopsThatCannotBeUsed) {
    EXPECT_FALSE(added(route(0, AF_INET, RTNH_F_DEAD)).route.hops.at(0).usable);
    EXPECT_TRUE(added(route(0, AF_INET, RTNH_F_LINKDOWN)).route.hops.at(0).usable) << "as the kernel does by default";
    EXPECT_FALSE(added(by_way_of(AF_IPX)).route.hops.at(0).usable) << "a gateway of a family that is not carried";
}

TEST(NetlinkMessage, ReadsAnIpv6GatewayOfAnIpv4Route) {
    const auto hop = added(by_way_of(AF_INET6)).route.hops.at(0);
    EXPECT_EQ(hop, (Hop{.ifindex = 3, .ipv6_gateway = ipv6("fe80::2")}));
}

/// One of the hops of a route, with an attribute behind it.
struct SentHop {
    rtnexthop hop{};
    rtattr attribute{};
    std::array<std::byte, 20> value{};
};
SentHop hop_with(int ifindex, unsigned char weight, unsigned short type, wire::Bytes value, unsigned char flags = 0) {
    SentHop sent{
        .hop = {.rtnh_flags = flags, .rtnh_hops = static_cast<unsigned char>(weight - 1), .rtnh_ifindex = ifindex},
        .attribute = {.rta_len = static_cast<unsigned short>(sizeof(rtattr) + value.size()), .rta_type = type}};
    sent.hop.rtnh_len = static_cast<unsigned short>(sizeof(rtnexthop) + sent.attribute.rta_len);
    std::ranges::copy(value, sent.value.begin());
    return sent;
}
const Sent<rtmsg>& with_hops(const Sent<rtmsg>& route, const std::vector<SentHop>& hops) {
    std::vector<std::byte> bytes;
    for (const auto& sent : hops) {
        const auto all = std::as_bytes(std::span(&sent, 1)).first(RTNH_ALIGN(sent.hop.rtnh_len));
        bytes.insert(bytes.end(), all.begin(), all.end());
    }
    nla_put(route.message.get(), RTA_MULTIPATH, static_cast<int>(bytes.size()), bytes.data());
    return route;
}

TEST(NetlinkMessage, ReadsTheHopsOfARouteWithTheirWeights) {
    const auto gateway = htonl(0x0a010002);
    const Via via;
    const auto event = added(with_hops(
        Sent<rtmsg>(RTM_NEWROUTE,
                    {.rtm_family = AF_INET, .rtm_dst_len = 16, .rtm_table = RT_TABLE_MAIN, .rtm_type = RTN_UNICAST})
            .with(RTA_DST, htonl(0x0a050000)),
        {hop_with(3, 1, RTA_GATEWAY, std::as_bytes(std::span(&gateway, 1))),
         hop_with(4, 7, RTA_VIA, std::as_bytes(std::span(&via, 1))),
         hop_with(5, 255, RTA_GATEWAY, std::as_bytes(std::span(&gateway, 1)), RTNH_F_DEAD)}));
    const auto& hops = event.route.hops;
    ASSERT_EQ(hops.size(), 3u);
    EXPECT_EQ(hops[0], (Hop{.ifindex = 3, .gateway = wire::ipv4(10, 1, 0, 2)}));
    EXPECT_EQ(hops[1], (Hop{.ifindex = 4, .ipv6_gateway = via.address, .weight = 7}));
    EXPECT_EQ(hops[2], (Hop{.ifindex = 5, .gateway = wire::ipv4(10, 1, 0, 2), .usable = false, .weight = 255}));
}

TEST(NetlinkMessage, ReadsNextHopObjects) {
    const auto object = [](const Sent<nhmsg>& sent) { return std::get<NextHopChanged>(sent.parse().value()).object; };
    const auto sent = [](unsigned char family, unsigned flags = 0) {
        Sent<nhmsg> message(RTM_NEWNEXTHOP, {.nh_family = family, .nh_flags = flags});
        message.with(NHA_ID, 7);
        return message;
    };
    EXPECT_EQ(object(sent(AF_INET).with(NHA_OIF, 3).with(NHA_GATEWAY, htonl(0x0a010002))),
              (NextHopObject{.id = 7, .hop = {.ifindex = 3, .gateway = wire::ipv4(10, 1, 0, 2)}}));
    EXPECT_EQ(object(sent(AF_INET6, RTNH_F_DEAD).with(NHA_OIF, 3).with(NHA_GATEWAY, ipv6("fe80::2"))),
              (NextHopObject{.id = 7, .hop = {.ifindex = 3, .usable = false, .ipv6_gateway = ipv6("fe80::2")}}));

    auto hole = sent(AF_INET);
    nla_put_flag(hole.message.get(), NHA_BLACKHOLE);
    EXPECT_EQ(object(hole), (NextHopObject{.id = 7, .blackhole = true}));

    auto group = sent(AF_UNSPEC);
    const std::array<nexthop_grp, 2> members{{{.id = 1, .weight = 0}, {.id = 2, .weight = 254}}};
    nla_put(group.message.get(), NHA_GROUP, sizeof(members), members.data());
    EXPECT_EQ(object(group), (NextHopObject{.id = 7, .group = {{1, 1}, {2, 255}}}));

    Sent<nhmsg> gone(RTM_DELNEXTHOP, {});
    EXPECT_FALSE(gone.parse()) << "without a number";
    gone.with(NHA_ID, 7);
    EXPECT_EQ(std::get<NextHopRemoved>(gone.parse().value()).id, 7u);
}

TEST(NetlinkMessage, ReadsToWhichObjectARouteRefers) {
    EXPECT_EQ(added(route()).route.next_hop_id, 0u);
    EXPECT_EQ(added(route().with(RTA_NH_ID, 7)).route.next_hop_id, 7u);
    const Sent<rtmsg> alone(RTM_NEWROUTE, {.rtm_family = AF_INET, .rtm_table = RT_TABLE_MAIN, .rtm_type = RTN_UNICAST});
    const auto event = added(alone.with(RTA_NH_ID, 7));
    EXPECT_EQ(event.route.next_hop_id, 7u) << "as with nexthop_compat_mode 0";
    EXPECT_TRUE(event.route.hops.empty());
}

TEST(NetlinkMessage, IgnoresInvalidAndClonedRoutes) {
    EXPECT_FALSE(route(0, AF_INET6).parse()) << "its destination is no IPv6 address";
    EXPECT_FALSE(route(0, AF_INET, RTM_F_CLONED).parse());
    EXPECT_FALSE(Sent<rtmsg>(RTM_NEWROUTE, {.rtm_family = AF_INET, .rtm_dst_len = 33}).parse());
}

TEST(NetlinkMessage, DoesNotTakeABridgePortForALink) {
    EXPECT_TRUE(Sent<ifinfomsg>(RTM_DELLINK, {.ifi_family = AF_UNSPEC, .ifi_index = 3}).parse());
    EXPECT_FALSE(Sent<ifinfomsg>(RTM_DELLINK, {.ifi_family = AF_BRIDGE, .ifi_index = 3}).parse());
}

TEST(NetlinkMessage, ReadsTheStateOfALink) {
    const auto link = [](unsigned flags) {
        const Sent<ifinfomsg> sent(RTM_NEWLINK, {.ifi_family = AF_UNSPEC, .ifi_index = 3, .ifi_flags = flags});
        return std::get<LinkChanged>(sent.parse().value()).link;
    };
    EXPECT_FALSE(link(0).up);
    EXPECT_TRUE(link(IFF_UP).up);
    EXPECT_FALSE(link(IFF_UP).carrier);
    EXPECT_TRUE(link(IFF_UP | IFF_RUNNING).carrier);
    EXPECT_TRUE(link(unsigned{IFF_UP} | unsigned{IFF_LOWER_UP}).carrier)
        << "dormant, for example; the kernel's routes go by either";
}

TEST(NetlinkMessage, ReadsTheOwnAddressOfAPointToPointLink) {
    Sent<ifaddrmsg> sent(RTM_NEWADDR, {.ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = 3});
    EXPECT_FALSE(sent.parse()) << "without an address";
    sent.with(IFA_ADDRESS, htonl(0x0a010002)).with(IFA_LOCAL, htonl(0x0a010001));
    EXPECT_EQ(std::get<AddressAdded>(sent.parse().value()).address,
              (link::InterfaceAddress{link::gid_of(wire::ipv4(10, 1, 0, 1)), 32}));
}

Sent<rtmsg> ipv6_route(unsigned char length = 32) {
    Sent<rtmsg> sent(
        RTM_NEWROUTE,
        {.rtm_family = AF_INET6, .rtm_dst_len = length, .rtm_table = RT_TABLE_MAIN, .rtm_type = RTN_UNICAST});
    if (length > 0) sent.with(RTA_DST, ipv6("fd76:5::"));
    sent.with(RTA_OIF, 3);
    return sent;
}

TEST(NetlinkMessage, ReadsAnIpv6Route) {
    const auto event = ipv6_route().with(RTA_GATEWAY, ipv6("fe80::2")).with(RTA_PRIORITY, 1024).parse();
    ASSERT_TRUE(event);
    const auto& route = std::get<Ipv6RouteAdded>(*event).route;
    EXPECT_EQ(route.prefix, (wire::Ipv6Prefix{ipv6("fd76:5::"), 32}));
    EXPECT_EQ(route.metric, 1024u);
    ASSERT_EQ(route.hops.size(), 1u);
    EXPECT_EQ(route.hops[0], (Ipv6Hop{3, ipv6("fe80::2"), true}));
    EXPECT_EQ(std::get<Ipv6RouteAdded>(ipv6_route(0).parse().value()).route.prefix, wire::Ipv6Prefix{});
    EXPECT_FALSE(ipv6_route(129).parse());
    EXPECT_FALSE(Sent<rtmsg>(RTM_NEWROUTE, {.rtm_family = AF_INET6, .rtm_src_len = 64}).parse()) << "of some sources";
}

TEST(NetlinkMessage, ReadsAnIpv6AddressOnceItIsTheInterfaces) {
    const auto sent = [](int type, unsigned char flags, int attribute = IFA_ADDRESS) {
        return Sent<ifaddrmsg>(type, {.ifa_family = AF_INET6, .ifa_prefixlen = 64, .ifa_flags = flags, .ifa_index = 3})
            .with(attribute, ipv6("fd76::1"))
            .parse();
    };
    const link::InterfaceAddress address{link::gid_of(ipv6("fd76::1")), 64};
    EXPECT_EQ(std::get<AddressAdded>(sent(RTM_NEWADDR, IFA_F_PERMANENT).value()).address, address);
    EXPECT_EQ(std::get<AddressAdded>(sent(RTM_NEWADDR, 0, IFA_LOCAL).value()).address, address);
    EXPECT_EQ(std::get<AddressRemoved>(sent(RTM_DELADDR, IFA_F_TENTATIVE).value()).address, address);
    EXPECT_FALSE(sent(RTM_NEWADDR, IFA_F_TENTATIVE));
    EXPECT_FALSE(sent(RTM_NEWADDR, IFA_F_DADFAILED));
}

TEST(NetlinkMessage, RefusesMessagesCutShort) {
    for (const int type : {RTM_NEWLINK, RTM_NEWADDR, RTM_NEWROUTE}) EXPECT_FALSE(Sent<rtgenmsg>(type, {}).parse());
    auto sent = route();
    auto* header = nlmsg_hdr(sent.message.get());
    for (auto length = header->nlmsg_len; length > NLMSG_HDRLEN; --length) {
        header->nlmsg_len = length;
        sent.parse();  // whatever it says, it reads no further
    }
}

}  // namespace
}  // namespace verbline::host
