// SPDX-License-Identifier: BSD-3-Clause
#include "control/rdmacm/multicast.h"

#include "datapath/wire/text.h"
#include "tests/control/rdmacm/two_hosts.h"

namespace verbline::rdmacm {
namespace {

using namespace test;
using Kind = link::GidTable::Kind;

constexpr auto broadcast = "ff12:401b:ffff::ffff:ffff";

wire::Gid gid(std::string_view text) {
    return wire::from_string<wire::Gid>(text).value();
}
SocketAddress address6(std::string_view text) {
    return {.family = Family::ipv6, .gid = gid(text)};
}

TEST(MulticastGid, OnInfinibandCarriesTheSpacesSignature) {
    const auto mgid = [](const SocketAddress& address, PortSpace space) {
        return ib_mgid(address, space, gid(broadcast));
    };
    EXPECT_EQ(mgid(ipv4(239, 1, 2, 3), PortSpace::ipoib), gid("ff12:401b:ffff::f01:203"));
    EXPECT_EQ(mgid(ipv4(239, 1, 2, 3), PortSpace::udp), gid("ff12:4001:ffff::f01:203"));
    EXPECT_EQ(mgid(address6("ff0e::1:2:3"), PortSpace::ipoib), gid("ff12:601b:ffff::1:2:3"));
    EXPECT_EQ(mgid(address6("ff0e::1:2:3"), PortSpace::udp), gid("ff12:6001:ffff::1:2:3"));
    EXPECT_EQ(mgid(any4(), PortSpace::udp), wire::Gid{}) << "the SA chooses";
    EXPECT_EQ(mgid(address6("ff15:a01b::1:2:3"), PortSpace::udp), gid("ff15:a01b::1:2:3")) << "the SA has chosen";
    EXPECT_EQ(ib_mgid(ipv4(239, 1, 2, 3), PortSpace::ipoib, gid("ff15:401b:8123::ffff:ffff")),
              gid("ff15:401b:8123::f01:203"))
        << "scope and P_Key are the broadcast group's";
}

TEST(MulticastGid, OnRoceIsTheAddress) {
    EXPECT_EQ(roce_mgid(ipv4(239, 1, 2, 3), link::GidType::roce_v2), gid4(239, 1, 2, 3));
    EXPECT_EQ(roce_mgid(ipv4(239, 1, 2, 3), link::GidType::roce_v1), gid("ff0e::ffff:ef01:203"));
    EXPECT_EQ(roce_mgid(address6("ff0e::1:2:3"), link::GidType::roce_v2), gid("ff0e::1:2:3"));
}

struct Multicast : testing::TestWithParam<Kind> {
    Network network{GetParam(), 1};
    Host& host = network.host(0);
    Service& service = *host.service;

    bool ib() const { return GetParam() == Kind::ib; }
    IdNumber bound(PortSpace space = PortSpace::udp) {
        const auto id = service.create_id(host.queue, 11, space, QueuePairType::ud);
        EXPECT_TRUE(service.bind(id, ipv4(10, 0, 0, 1), network.now));
        return id;
    }
    Result<GroupNumber> join(IdNumber id, bool send_only = false) {
        return service.join(id, 33, ipv4(239, 1, 2, 3), send_only, network.now);
    }
};

INSTANTIATE_TEST_SUITE_P(Links, Multicast, testing::Values(Kind::roce, Kind::ib),
                         [](const auto& link) { return link.param == Kind::ib ? "infiniband" : "roce"; });

TEST_P(Multicast, AJoinIsReportedWithThePathToTheGroup) {
    const auto id = bound();
    const auto group = join(id).value();
    const auto event = host.expect(EventKind::multicast_join);
    EXPECT_EQ(event.id, id);
    EXPECT_EQ(event.user, 33u) << "of the join";
    EXPECT_EQ(event.group, group);
    EXPECT_TRUE(event.datagram);
    EXPECT_EQ(event.ud.qpn, wire::Qpn{0xffffff});
    EXPECT_EQ(event.ud.qkey, wire::QKey{0x01234567});
    EXPECT_TRUE(event.ud.path.address.global);
    EXPECT_EQ(event.ud.path.address.dgid, ib() ? gid("ff12:4001:ffff::f01:203") : gid4(239, 1, 2, 3));
    EXPECT_EQ(event.ud.path.address.dlid, ib() ? wire::Lid{0xc007} : wire::Lid{});
    EXPECT_EQ(event.ud.path.gid_index, ib() ? 0u : 3u);
    EXPECT_EQ(service.leave(group, network.now).value(), 1u);
    EXPECT_TRUE(host.port().joined.empty());
    EXPECT_EQ(service.leave(group, network.now).error().code, ENOENT);
    EXPECT_EQ(service.destroy_id(id, network.now).value(), 1u) << "counted with the id as well";
}

TEST_P(Multicast, InTheIpoibSpaceTheQkeyIsTheBroadcastGroups) {
    const auto id = bound(PortSpace::ipoib);
    ASSERT_TRUE(join(id, true));
    EXPECT_EQ(host.expect(EventKind::multicast_join).ud.qkey, ib() ? wire::QKey{0x0b1b} : wire::QKey{0x01234567});
    EXPECT_TRUE(host.port().requests.at(0).send_only);
    if (!ib()) return;
    host.port().change().broadcast_qkey = {};
    EXPECT_EQ(join(bound(PortSpace::ipoib)).error().code, EADDRNOTAVAIL) << "not known yet";
}

TEST_P(Multicast, AfterAResolvedAddressToo) {
    const auto id = service.create_id(host.queue, 11, PortSpace::udp, QueuePairType::ud);
    ASSERT_TRUE(service.resolve_address(id, ipv4(10, 0, 0, 1), ipv4(239, 1, 2, 3), second, network.now));
    host.expect(EventKind::address_resolved);
    ASSERT_TRUE(join(id));
    host.expect(EventKind::multicast_join);
}

TEST_P(Multicast, JoinInTheWrongStateFails) {
    const auto idle = service.create_id(host.queue, 11, PortSpace::udp, QueuePairType::ud);
    EXPECT_EQ(join(idle).error().code, EINVAL);
    const auto connected = service.create_id(host.queue, 11, PortSpace::tcp, QueuePairType::rc);
    ASSERT_TRUE(service.bind(connected, ipv4(10, 0, 0, 1), network.now));
    EXPECT_EQ(join(connected).error().code, EINVAL);
    const auto anywhere = service.create_id(host.queue, 11, PortSpace::udp, QueuePairType::ud);
    ASSERT_TRUE(service.bind(anywhere, any4(), network.now));
    EXPECT_EQ(join(anywhere).error().code, EINVAL);
}

TEST_P(Multicast, ARefusalIsReported) {
    host.port().refusal = ENETUNREACH;
    const auto group = join(bound());
    ASSERT_TRUE(group);
    const auto event = host.expect(EventKind::multicast_error);
    EXPECT_EQ(event.status, -ENETUNREACH);
    EXPECT_EQ(event.user, 33u);
    EXPECT_EQ(service.leave(*group, network.now).value(), 1u);
}

TEST_P(Multicast, DestroyingLeavesEverything) {
    const auto id = bound();
    ASSERT_TRUE(join(id));
    ASSERT_TRUE(service.join(id, 34, ipv4(239, 1, 2, 4), false, network.now));
    host.port().answers = false;
    ASSERT_TRUE(service.join(id, 35, ipv4(239, 1, 2, 5), false, network.now));
    EXPECT_EQ(host.port().joined.size(), 2u);
    ASSERT_TRUE(service.destroy_id(id, network.now));
    EXPECT_TRUE(host.port().joined.empty());
    EXPECT_TRUE(host.port().waiting.empty()) << "cancelled";
    EXPECT_TRUE(host.quiet());
}

TEST_P(Multicast, LeaveDiscardsUnreadEvents) {
    const auto id = bound();
    const auto group = join(id).value();
    EXPECT_EQ(service.leave(group, network.now).value(), 0u);
    EXPECT_TRUE(host.quiet());
    EXPECT_EQ(service.destroy_id(id, network.now).value(), 0u);
}

TEST_P(Multicast, JoinedAgainWhenThePortHasChanged) {
    ASSERT_TRUE(join(bound()));
    host.expect(EventKind::multicast_join);
    service.port_changed(host.port(), false, network.now);
    EXPECT_EQ(host.port().requests.size(), 2u);
    EXPECT_EQ(host.port().joined.size(), 1u);
    EXPECT_TRUE(host.quiet()) << "it is as it was";
    host.port().refusal = ETIMEDOUT;
    service.port_changed(host.port(), false, network.now);
    EXPECT_EQ(host.expect(EventKind::multicast_error).status, -ETIMEDOUT);
}

}  // namespace
}  // namespace verbline::rdmacm
