// SPDX-License-Identifier: BSD-3-Clause
#include "control/hub/registry.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "datapath/wire/text.h"
#include "tests/control/hub/address.h"

namespace verbline::hub {
namespace {

wire::MacAddress mac_of(const char* text) {
    return *wire::from_string<wire::MacAddress>(text);
}

struct RegistryTest : ::testing::Test {
    /// What a client with these wishes gets, as text; or why not.
    std::string join(const Join& wishes, pid_t pid = 100) {
        const auto lane = registry.join(wishes, {pid, 0});
        if (!lane) return lane.error().reason;
        const auto& tenant = registry.tenant(*lane);
        auto text = std::to_string(static_cast<unsigned>(*lane)) + ' ' + to_string(tenant.mac);
        for (const auto& one : tenant.addresses) text += ' ' + to_string(one);
        return text;
    }
    Registry registry{{.name = "lab",
                       .subnets = default_subnets(),
                       .max_lanes = 4,
                       .quotas = {.lane_groups = 2, .lane_ports = 1 << 17}}};
};

TEST_F(RegistryTest, AnEmptyRequestGetsOneOfEach) {
    EXPECT_EQ(join({}), "0 06:76:0a:63:00:01 10.99.0.1/16 fd76:6572:b11e::1/64");
    EXPECT_EQ(join({}), "1 06:76:0a:63:00:02 10.99.0.2/16 fd76:6572:b11e::2/64");
}

TEST_F(RegistryTest, AChosenAddressIsNotAssignedToAnother) {
    EXPECT_EQ(join({.addresses = {address("10.99.0.1/24")}}), "0 06:76:0a:63:00:01 10.99.0.1/24");
    EXPECT_EQ(join({.addresses = {address("fd76:6572:b11e::2/64")}}), "1 06:76:00:00:00:02 fd76:6572:b11e::2/64");
    EXPECT_EQ(join({}), "2 06:76:0a:63:00:03 10.99.0.3/16 fd76:6572:b11e::3/64") << "the same number in both";
}

TEST_F(RegistryTest, AnAddressInUseIsRefusedWithItsHolder) {
    join({.addresses = {address("10.1.0.1/24")}, .program = "ib_send_bw"}, 4711);
    const auto refused = registry.join({.addresses = {address("10.1.0.2/24"), address("10.1.0.1/8")}}, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EADDRINUSE);
    EXPECT_EQ(
        refused.error().reason,
        "address 10.1.0.1/8 is in use on hub `lab` by ib_send_bw (process 4711); choose another, or end that program");
    EXPECT_EQ(join({.addresses = {address("10.1.0.2/24")}}), "1 06:76:0a:01:00:02 10.1.0.2/24")
        << "who is refused has taken nothing";
}

TEST_F(RegistryTest, AMacInUseIsRefusedWithItsHolder) {
    EXPECT_EQ(join({.mac = mac_of("02:00:00:00:00:07"), .program = "one"}),
              "0 02:00:00:00:00:07 10.99.0.1/16 fd76:6572:b11e::1/64");
    EXPECT_EQ(join({.mac = mac_of("02:00:00:00:00:07")}),
              "MAC address 02:00:00:00:00:07 is in use on hub `lab` by one (process 100); choose another, or none");
}

TEST_F(RegistryTest, AChosenMacAvoidsThoseInUse) {
    join({.mac = mac_of("06:76:0a:63:00:02"), .addresses = {address("10.1.0.1/24")}});
    EXPECT_EQ(join({.addresses = {address("10.99.0.2/16")}}), "1 06:76:0a:63:00:03 10.99.0.2/16");
}

TEST_F(RegistryTest, LeavingFreesEverythingAtOnce) {
    const auto first = join({.program = "dies"});
    join({});
    registry.leave(LaneId{0});
    EXPECT_EQ(join({}), first) << "lane, MAC and addresses";
    EXPECT_EQ(registry.tenants().size(), 2u);
}

TEST_F(RegistryTest, AFullHubSaysSo) {
    for (unsigned i = 0; i < 4; ++i) join({});
    const auto refused = registry.join({}, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ENOSPC);
    EXPECT_EQ(refused.error().reason, "hub `lab` is full: 4 programs use it; start another with `verbline hub NAME`");
}

TEST_F(RegistryTest, AnotherUsersLanesAreBounded) {
    Registry shared{
        {.name = "lab", .subnets = default_subnets(), .owner = 1000, .max_lanes = 6, .quotas = {.user_lanes = 2}}};
    for (unsigned i = 0; i < 2; ++i) EXPECT_TRUE(shared.join({}, {1, 1001}));
    const auto refused = shared.join({}, {1, 1001});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EDQUOT);
    EXPECT_EQ(
        refused.error().reason,
        "hub `lab` keeps 2 lanes for a user other than its own; end some programs, or start the hub with a larger "
        "--user-lanes");
    EXPECT_TRUE(shared.join({}, {1, 1002})) << "each user has a quota";
    for (unsigned i = 0; i < 3; ++i) EXPECT_TRUE(shared.join({}, {1, 1000})) << "the hub's own user has none";
    shared.leave(LaneId{0});
    EXPECT_TRUE(shared.join({}, {1, 1001}));
}

TEST_F(RegistryTest, QuotasChangeForWhatIsAskedForFromThenOn) {
    Registry shared{{.name = "lab", .subnets = default_subnets(), .owner = 1000, .quotas = {.user_lanes = 1}}};
    ASSERT_TRUE(shared.join({}, {1, 1001}));
    shared.set_quotas({.user_lanes = 2});
    EXPECT_TRUE(shared.join({}, {1, 1001}));
    shared.set_quotas({.user_lanes = 1});
    EXPECT_FALSE(shared.join({}, {1, 1001}));
    EXPECT_EQ(shared.tenants().size(), 2u) << "who is there stays";
}

TEST_F(RegistryTest, OneLaneCannotHaveAllEphemeralPorts) {
    Registry standard{{.name = "lab", .subnets = default_subnets()}};
    const auto greedy = *standard.join({}, {}), other = *standard.join({}, {});
    while (standard.reserve(greedy, {0x0106, 0})) {}
    EXPECT_TRUE(standard.reserve(other, {0x0106, 0}));
}

TEST_F(RegistryTest, ASmallSubnetEnds) {
    Registry small{{.name = "lab", .subnets = {address("10.5.0.0/30")}}};
    EXPECT_EQ(to_string(small.tenant(*small.join({}, {})).addresses.front()), "10.5.0.1/30");
    EXPECT_EQ(to_string(small.tenant(*small.join({}, {})).addresses.front()), "10.5.0.2/30");
    const auto refused = small.join({}, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ENOSPC);
    EXPECT_EQ(
        refused.error().reason,
        "hub `lab` has no free address in 10.5.0.0/30; choose one outside, or start the hub with a larger --subnet");
    EXPECT_TRUE(small.join({.addresses = {address("10.6.0.1/24")}}, {}));
}

TEST_F(RegistryTest, AUserHasAQuotaOfGroupsAndPortsInAll) {
    Registry shared{{.name = "lab",
                     .subnets = default_subnets(),
                     .owner = 1000,
                     .quotas = {.user_lanes = 2, .user_groups = 2, .user_ports = 2}}};
    const auto one = *shared.join({}, {1, 1001}), two = *shared.join({}, {2, 1001}), own = *shared.join({}, {3, 1000});
    EXPECT_EQ(shared.join({}, {4, 1001}).error().code, EDQUOT);
    for (const auto lane : {one, two, own}) {
        EXPECT_TRUE(shared.reserve(lane, {0x0106, 0}));
        EXPECT_TRUE(shared.set_group(lane, {mac_of("01:00:5e:01:01:01"), true}));
    }
    const auto port = shared.reserve(one, {0x0106, 0});
    ASSERT_FALSE(port);
    EXPECT_EQ(port.error().code, EDQUOT);
    EXPECT_EQ(port.error().reason,
              "hub `lab` keeps 2 ports for a user other than its own; end some programs, or start the hub with a "
              "larger --user-ports");
    EXPECT_EQ(shared.set_group(two, {mac_of("01:00:5e:01:01:02"), true}).error().code, EDQUOT);
    EXPECT_TRUE(shared.set_group(two, {mac_of("01:00:5e:01:01:01"), true})) << "it has this one";
    EXPECT_TRUE(shared.reserve(own, {0x0106, 0})) << "the hub's own user has no quota";
    EXPECT_TRUE(shared.set_group(own, {mac_of("01:00:5e:01:01:02"), true}));
    EXPECT_EQ(shared.refusals().quota_lanes.value(), 1u);
    EXPECT_EQ(shared.refusals().quota_ports.value(), 1u);
    EXPECT_EQ(shared.refusals().quota_groups.value(), 1u);
    shared.leave(one);
    EXPECT_TRUE(shared.reserve(two, {0x0106, 0}));
}

TEST_F(RegistryTest, GroupsAreBounded) {
    join({});
    const auto in = [&](const char* group) { return registry.set_group(LaneId{0}, {mac_of(group), true}).has_value(); };
    EXPECT_TRUE(in("01:00:5e:01:01:01"));
    EXPECT_TRUE(in("01:00:5e:01:01:02"));
    EXPECT_TRUE(in("01:00:5e:01:01:02"));
    EXPECT_FALSE(in("01:00:5e:01:01:03"));
    EXPECT_TRUE(registry.set_group(LaneId{0}, {mac_of("01:00:5e:01:01:01"), false}));
    EXPECT_TRUE(in("01:00:5e:01:01:03"));
    EXPECT_EQ(registry.tenant(LaneId{0}).groups.size(), 2u);
}

TEST_F(RegistryTest, APortIsBoundOnceByEachLane) {
    join({.program = "rping"}, 4711), join({});
    EXPECT_EQ(registry.reserve(LaneId{0}, {0x0106, 7174}), 7174);
    EXPECT_EQ(registry.reserve(LaneId{0}, {0x0111, 7174}), 7174) << "in another space";
    const auto refused = registry.reserve(LaneId{0}, {0x0106, 7174});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EADDRINUSE);
    EXPECT_EQ(refused.error().reason,
              "port 7174 is bound by this program already; choose another, or set reuse_address on both ids");
    EXPECT_EQ(registry.release(LaneId{1}, {0x0106, 7174}).error().code, ENOENT) << "another's";
    EXPECT_EQ(registry.reserve(LaneId{1}, {0x0106, 7174}), 7174) << "a lane has addresses of its own";
    EXPECT_TRUE(registry.release(LaneId{1}, {0x0106, 7174}));
    EXPECT_TRUE(registry.release(LaneId{0}, {0x0106, 7174}));
    EXPECT_EQ(registry.release(LaneId{0}, {0x0106, 7174}).error().code, ENOENT);
    EXPECT_EQ(registry.reserve(LaneId{0}, {0x0106, 7174}), 7174);
    registry.leave(LaneId{0});
    join({});
    EXPECT_EQ(registry.reserve(LaneId{0}, {0x0106, 7174}), 7174) << "ports end with their lane";
}

TEST_F(RegistryTest, EphemeralPortsAreGivenOnceAndNotAgainSoon) {
    join({}), join({});
    EXPECT_EQ(registry.reserve(LaneId{0}, {0x0106, 0}), 32768);
    EXPECT_EQ(registry.reserve(LaneId{0}, {0x0106, 32769}), 32769) << "named";
    EXPECT_EQ(registry.reserve(LaneId{1}, {0x0106, 0}), 32770);
    EXPECT_TRUE(registry.release(LaneId{1}, {0x0106, 32770}));
    EXPECT_EQ(registry.reserve(LaneId{1}, {0x0106, 0}), 32771);
    for (unsigned left = 60999 - 32768 + 1 - 3; left > 0; --left) {
        ASSERT_TRUE(registry.reserve(LaneId{1}, {0x0106, 0}));
    }
    EXPECT_EQ(registry.reserve(LaneId{0}, {0x0106, 0}).error().code, EADDRINUSE) << "all are taken";
    EXPECT_TRUE(registry.reserve(LaneId{0}, {0x0111, 0})) << "of that space";
    registry.leave(LaneId{1});
    EXPECT_TRUE(registry.reserve(LaneId{0}, {0x0106, 0}));
}

TEST_F(RegistryTest, PortsAreBounded) {
    Registry small{{.name = "lab", .subnets = default_subnets(), .quotas = {.lane_ports = 2}}};
    const auto lane = *small.join({}, {});
    EXPECT_TRUE(small.reserve(lane, {1, 0}));
    EXPECT_TRUE(small.reserve(lane, {2, 5}));
    EXPECT_EQ(small.reserve(lane, {3, 0}).error().code, ENOSPC);
    EXPECT_TRUE(small.release(lane, {2, 5}));
    EXPECT_TRUE(small.reserve(lane, {3, 0}));
}

}  // namespace
}  // namespace verbline::hub
