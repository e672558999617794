// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>

#include <gtest/gtest.h>

#include "control/hub/registry.h"
#include "datapath/link/member.h"
#include "datapath/wire/text.h"
#include "tests/control/hub/address.h"

namespace verbline::hub {
namespace {

struct RegistryOfNode : ::testing::Test {
    LaneId join(const Join& wishes = {}) { return registry.join(wishes, {100, 0}).value(); }

    Registry registry{{.name = "n1",
                       .subnets = {},
                       .max_lanes = link::last_member,
                       .node = NodeIdentity{.mac = *wire::from_string<wire::MacAddress>("02:00:00:00:00:01"),
                                            .addresses = {address("10.1.0.1/24"), address("fd00::1/64")}}}};
};

TEST_F(RegistryOfNode, AllHaveThePortsAddressesAndNumbersOfTheirOwn) {
    EXPECT_EQ(join(), LaneId{1}) << "0 is the node itself";
    EXPECT_EQ(join(), LaneId{2});
    EXPECT_EQ(registry.tenant(LaneId{1}).addresses, registry.tenant(LaneId{2}).addresses);
    EXPECT_EQ(registry.tenant(LaneId{2}).mac, link::mac_of(link::MemberId{2}));
}

TEST_F(RegistryOfNode, AnAddressOfAnotherHostIsRefused) {
    EXPECT_EQ(join({.addresses = {address("10.1.0.1/24")}}), LaneId{1});
    const auto refused = registry.join({.addresses = {address("10.1.0.2/24")}}, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EADDRNOTAVAIL);
    EXPECT_EQ(refused.error().reason,
              "address 10.1.0.2/24 is none of node `n1`, whose programs have those of its "
              "port; leave --ip out");
}

TEST_F(RegistryOfNode, ANumberIsNotUsedAgainUntilItIsFree) {
    for (unsigned i = 0; i < link::last_member; ++i) join();
    registry.leave(LaneId{7});
    EXPECT_TRUE(registry.retired(LaneId{7}));
    const auto refused = registry.join({}, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EAGAIN);
    registry.free(LaneId{7});
    EXPECT_EQ(join(), LaneId{7});
}

TEST_F(RegistryOfNode, AMemberOfTheNodeBeforeHasItsNumberAgain) {
    const Join before{.mac = link::mac_of(link::MemberId{77})};
    EXPECT_EQ(join(before), LaneId{77});
    EXPECT_EQ(registry.tenant(LaneId{77}).mac, before.mac);
    EXPECT_EQ(registry.tenant(LaneId{77}).addresses.size(), 2u);
    const auto refused = registry.join(before, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EADDRINUSE);
    EXPECT_EQ(refused.error().reason,
              "number 77 of node `n1` is another program's by now; end this one, and start it again");
    registry.leave(LaneId{77});
    EXPECT_FALSE(registry.join(before, {})) << "until it is free";
    registry.free(LaneId{77});
    EXPECT_EQ(join(before), LaneId{77});
    EXPECT_EQ(join(), LaneId{1}) << "others are given in turn";
    EXPECT_FALSE(registry.join({.mac = link::mac_of(link::node_itself)}, {}));
    EXPECT_FALSE(registry.join({.mac = link::mac_of(link::MemberId{link::last_member + 1})}, {}));
}

TEST_F(RegistryOfNode, NumbersBeginWhereTheSetupSays) {
    Registry late({.name = "n1", .node = NodeIdentity{}, .last_member = link::last_member - 1});
    EXPECT_EQ(late.join({}, {}).value(), LaneId{link::last_member});
    EXPECT_EQ(late.join({}, {}).value(), LaneId{1});
}

TEST_F(RegistryOfNode, APortHasAHolder) {
    const auto member = join();
    EXPECT_FALSE(registry.holder({0x106, 4000}, std::nullopt));
    EXPECT_EQ(registry.reserve(member, {0x106, 4000}).value(), 4000);
    const auto other = join();
    const PortUse six{.family = rdmacm::Family::ipv6};
    EXPECT_EQ(registry.reserve(other, {0x106, 4000, six}), 4000);
    EXPECT_EQ(registry.holder({0x106, 4000}, std::nullopt), member) << "the first, though bound only";
    EXPECT_TRUE(registry.rebind(other, {0x106, 4000, six, six.as_listener()}));
    EXPECT_EQ(registry.holder({0x106, 4000}, std::nullopt), other) << "who listens comes first";
    registry.leave(other);
    EXPECT_TRUE(registry.rebind(member, {0x106, 4000, {}, PortUse{}.as_listener()}));
    EXPECT_EQ(registry.holder({0x106, 4000}, std::nullopt), member);
    EXPECT_FALSE(registry.holder({0x111, 4000}, std::nullopt)) << "another port space";
    registry.leave(member);
    EXPECT_FALSE(registry.holder({0x106, 4000}, std::nullopt)) << "free at once";
}

TEST_F(RegistryOfNode, MembersShareAPortByItsAddresses) {
    const auto four = join({.program = "rping"}), six = join();
    const PortUse at4{.address = address("10.1.0.1/24").gid};
    const PortUse at6{.family = rdmacm::Family::ipv6, .address = address("fd00::1/64").gid};
    EXPECT_TRUE(registry.reserve(four, {0x106, 4000, at4.as_listener()}));
    EXPECT_TRUE(registry.reserve(six, {0x106, 4000, at6.as_listener()}));
    const auto refused = registry.reserve(six, {0x106, 4000});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EADDRINUSE);
    EXPECT_EQ(refused.error().reason,
              "port 4000 is in use on node `n1` by rping (process 100); choose another, or end that program");
    using rdmacm::Family, rdmacm::SocketAddress;
    EXPECT_EQ(registry.holder({0x106, 4000}, SocketAddress{.gid = at4.address}), four);
    EXPECT_EQ(registry.holder({0x106, 4000}, SocketAddress{.family = Family::ipv6, .gid = at6.address}), six);
}

TEST_F(RegistryOfNode, AMemberBindsAddressesOfThePortOnly) {
    const auto member = join();
    const auto may = [&](const PortUse& use) { return registry.may_bind(member, use); };
    EXPECT_TRUE(may({}));
    EXPECT_TRUE(may({.address = address("10.1.0.1/24").gid}));
    EXPECT_TRUE(may({.family = rdmacm::Family::ib, .address = address("fd00::1/64").gid}));
    EXPECT_TRUE(may({.family = rdmacm::Family::ipv6, .address = address("fe80::ff:fe00:1/64").gid})) << "of its MAC";
    EXPECT_FALSE(may({.address = address("10.1.0.2/24").gid}));
    EXPECT_FALSE(may({.family = rdmacm::Family::ipv6, .address = address("fe80::1/64").gid}));
    registry.set_addresses({address("10.1.0.2/24")});
    EXPECT_TRUE(may({.address = address("10.1.0.2/24").gid}));
    EXPECT_FALSE(may({.address = address("10.1.0.1/24").gid})) << "it has gone";
}

TEST_F(RegistryOfNode, WhatCannotBeReboundStays) {
    const auto one = join(), two = join();
    const PortUse reusing{.reuse = true};
    EXPECT_TRUE(registry.reserve(one, {0x106, 4000, reusing}));
    EXPECT_TRUE(registry.reserve(two, {0x106, 4000, reusing}));
    EXPECT_EQ(registry.rebind(two, {0x106, 4000, reusing, reusing.as_listener()}).error().code, EADDRINUSE);
    EXPECT_EQ(registry.rebind(two, {0x106, 4000, {}, reusing}).error().code, ENOENT);
    EXPECT_TRUE(registry.release(one, {0x106, 4000, reusing}));
    EXPECT_TRUE(registry.rebind(two, {0x106, 4000, reusing, reusing.as_listener()})) << "alone now";
    EXPECT_EQ(registry.release(two, {0x106, 4000, reusing}).error().code, ENOENT) << "it is used otherwise";
}

}  // namespace
}  // namespace verbline::hub
