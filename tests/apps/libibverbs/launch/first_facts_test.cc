// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/launch/first_facts.h"

#include <filesystem>
#include <string>

#include <unistd.h>

#include <gtest/gtest.h>

#include "control/hub/directory.h"
#include "control/hub/identity.h"
#include "datapath/wire/text.h"

namespace verbline::verbs {
namespace {

constexpr wire::MacAddress own_mac{{std::byte{2}, {}, {}, {}, {}, std::byte{4}}};

TEST(FirstFacts, NameTheDevicesOfTheLinks) {
    Settings settings;
    settings.links = {*parse_link("eth:eth1"), *parse_link("ib:H2@there-is-none")};
    const auto facts = first_facts(settings, own_mac);
    ASSERT_EQ(facts.size(), 2U);
    EXPECT_EQ(facts[0].name, "verbline0");
    EXPECT_EQ(facts[0].interface, "eth1");
    EXPECT_FALSE(facts[0].infiniband);
    EXPECT_EQ(facts[1].name, "verbline_ib0");
    EXPECT_EQ(facts[1].index, 1U);
    EXPECT_TRUE(facts[1].infiniband);
    EXPECT_FALSE(facts[1].active) << "there is no such fabric";
}

TEST(FirstFacts, HaveTheAddressesThatThePortWillHave) {
    Settings settings;
    settings.addresses = {*parse_address("10.1.0.1/24")};
    const auto facts = first_facts(settings, own_mac);
    ASSERT_EQ(facts.size(), 1U);
    EXPECT_EQ(facts[0].node_guid, wire::Guid{0x000000fffe000004}) << "the U/L bit is inverted";
    ASSERT_EQ(facts[0].gids.size(), 4U);
    EXPECT_EQ(wire::to_string(facts[0].gids[0].gid), "fe80::ff:fe00:4");
    EXPECT_EQ(facts[0].gids[1].type, GidType::roce_v2);
    EXPECT_EQ(facts[0].gids[3].gid, settings.addresses[0].gid);
}

TEST(FirstFacts, OfAnInterfaceAreTheKernels) {
    Settings settings;
    settings.links = {*parse_link("eth:lo")};
    const auto facts = first_facts(settings, own_mac);
    ASSERT_GE(facts[0].gids.size(), 2U);
    EXPECT_EQ(facts[0].gids[0].interface, "lo");
    EXPECT_NE(facts[0].node_guid, wire::Guid{0x000000fffe000004}) << "the interface has an address of its own";
}

TEST(FirstFacts, OfANodeAreItsPorts) {
    const auto name = "facts" + std::to_string(getpid());
    Settings settings;
    settings.links = {*parse_link("node:" + name)};
    EXPECT_EQ(first_facts(settings, own_mac)[0].gids.size(), 2U) << "it does not run";
    ASSERT_TRUE(hub::make_directory(name));
    ASSERT_TRUE(hub::write_identity(
        name, {.mac = {{std::byte{2}, {}, {}, {}, {}, std::byte{7}}}, .addresses = {*parse_address("10.1.0.1/24")}}));
    const auto facts = first_facts(settings, own_mac);
    EXPECT_EQ(facts[0].node_guid, wire::Guid{0x000000fffe000007});
    ASSERT_EQ(facts[0].gids.size(), 4U);
    EXPECT_EQ(facts[0].gids[3].gid, parse_address("10.1.0.1/24")->gid);
    std::filesystem::remove_all(hub::directory(name));
}

}  // namespace
}  // namespace verbline::verbs
