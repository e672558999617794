// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/link/gid_table.h"

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "tests/support/hex.h"

namespace verbline::link {
namespace {

constexpr std::uint32_t eth = 2, tagged = 3;
constexpr wire::MacAddress interface_mac{
    {std::byte{0x52}, std::byte{0x54}, std::byte{0}, std::byte{0xfe}, std::byte{0}, std::byte{2}}};

wire::Gid ip(unsigned last) {
    return gid_of(wire::ipv4(10, 1, 0, last));
}

class RoceGids : public testing::Test {
protected:
    void SetUp() override { ASSERT_TRUE(table_.add_interface(eth, interface_mac)); }
    void expect(std::size_t index, const wire::Gid& gid, GidType type) {
        ASSERT_TRUE(table_.at(index)) << index;
        EXPECT_EQ(table_.at(index)->gid, gid) << index;
        EXPECT_EQ(table_.at(index)->type, type) << index;
    }
    GidTable table_{GidTable::Kind::roce, 8};
};

// rping's CA GUID in the captures is that of a guest with this MAC.
TEST(LinkLocalGid, IsMadeOfTheMac) {
    EXPECT_EQ(test::to_hex(link_local_gid(interface_mac).bytes), "fe80000000000000505400fffefe0002");
}

TEST(LinkLocalGid, YieldsTheMac) {
    EXPECT_EQ(mac_of_link_local(link_local_gid(interface_mac)), interface_mac);
    EXPECT_FALSE(mac_of_link_local(wire::Gid::of(0xfd00'0000'0000'0000, wire::Guid{0xff'fe00'0002}))) << "prefix";
    EXPECT_FALSE(mac_of_link_local(wire::Gid::of(wire::default_subnet_prefix, wire::Guid{1}))) << "no EUI-64";
    EXPECT_FALSE(mac_of_link_local(wire::Gid{}));
}

TEST(LinkLocalGid, YieldsNoMacThatNoInterfaceCanHave) {
    auto multicast = interface_mac;
    multicast.bytes[0] |= std::byte{1};
    for (const auto mac : {multicast, wire::broadcast_mac, wire::MacAddress{}}) {
        EXPECT_FALSE(mac_of_link_local(link_local_gid(mac)));
    }
}

TEST_F(RoceGids, AreOrderedAsTheKernels) {
    ASSERT_TRUE(table_.add_address(eth, ip(1)));
    ASSERT_TRUE(table_.add_address(eth, ip(2)));
    expect(0, link_local_gid(interface_mac), GidType::roce_v1);
    expect(1, link_local_gid(interface_mac), GidType::roce_v2);
    expect(2, ip(1), GidType::roce_v1);
    expect(3, ip(1), GidType::roce_v2);
    expect(4, ip(2), GidType::roce_v1);
    EXPECT_FALSE(table_.at(6));
    EXPECT_FALSE(table_.at(8));
}

TEST_F(RoceGids, AreThereOnce) {
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(table_.add_address(eth, ip(1)));
    ASSERT_TRUE(table_.add_address(eth, link_local_gid(interface_mac)));  // the interface has this address, too
    EXPECT_FALSE(table_.at(4));
}

TEST_F(RoceGids, FollowTheMacInPlace) {
    ASSERT_TRUE(table_.add_address(eth, ip(1)));
    auto other = interface_mac;
    other.bytes[5] = std::byte{9};
    ASSERT_TRUE(table_.add_interface(eth, other));
    expect(1, link_local_gid(other), GidType::roce_v2);
    expect(2, ip(1), GidType::roce_v1);
}

TEST_F(RoceGids, OfAVlanHaveItsIdAndNoReservedPlace) {
    ASSERT_TRUE(table_.add_interface(tagged, interface_mac, 100));
    EXPECT_FALSE(table_.at(2));
    ASSERT_TRUE(table_.add_address(tagged, link_local_gid(interface_mac)));
    ASSERT_TRUE(table_.add_address(eth, ip(1)));
    ASSERT_TRUE(table_.add_address(tagged, ip(1)));
    EXPECT_EQ(table_.find(link_local_gid(interface_mac), GidType::roce_v2, 100), 3u);
    EXPECT_EQ(table_.find(link_local_gid(interface_mac), GidType::roce_v2, std::nullopt), 1u);
    EXPECT_EQ(table_.find(ip(1), GidType::roce_v1, 100), 6u);
}

TEST_F(RoceGids, AreRefusedWholeWhenTheTableIsFull) {
    for (const unsigned last : {1, 2}) ASSERT_TRUE(table_.add_address(eth, ip(last)));
    ASSERT_TRUE(table_.add_address(eth, ip(3)));
    EXPECT_FALSE(table_.add_address(eth, ip(4)));
    EXPECT_FALSE(table_.find(ip(4), GidType::roce_v1, std::nullopt));
    GidTable odd(GidTable::Kind::roce, 5);
    ASSERT_TRUE(odd.add_interface(eth, interface_mac));
    ASSERT_TRUE(odd.add_address(eth, ip(1)));
    EXPECT_FALSE(odd.add_address(eth, ip(2)));
    EXPECT_FALSE(odd.at(4));
}

TEST_F(RoceGids, NeedAnInterfaceAndAnAddress) {
    EXPECT_FALSE(table_.add_address(77, ip(1)));
    EXPECT_FALSE(table_.add_address(eth, wire::Gid{}));
    EXPECT_FALSE(table_.add_interface(78, interface_mac)) << "the reserved places are taken";
}

TEST_F(RoceGids, TellTheirCarrier) {
    ASSERT_TRUE(table_.add_address(eth, ip(1)));
    EXPECT_EQ(carrier_of(*table_.at(0)), Carrier::roce_v1);
    EXPECT_EQ(carrier_of(*table_.at(1)), Carrier::roce_v2_ipv6);
    EXPECT_EQ(carrier_of(*table_.at(2)), Carrier::roce_v1);
    EXPECT_EQ(carrier_of(*table_.at(3)), Carrier::roce_v2_ipv4);
}

TEST(IbGids, BeginWithTheSubnetManagers) {
    GidTable table(GidTable::Kind::ib);
    ASSERT_TRUE(table.add_interface(0, {}));
    const auto gid = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{0x100005});
    ASSERT_TRUE(table.add_address(0, gid));
    ASSERT_TRUE(table.at(0));
    EXPECT_EQ(*table.at(0), (GidEntry{.gid = gid, .type = GidType::ib}));
    EXPECT_EQ(carrier_of(*table.at(0)), Carrier::soft_ib);
    EXPECT_FALSE(table.at(1));
}

TEST_F(RoceGids, FollowTheInterfacesAddresses) {
    const std::vector first{ip(1), ip(2)};
    EXPECT_TRUE(table_.set_addresses(eth, first));
    EXPECT_FALSE(table_.set_addresses(eth, first)) << "the same again";
    const std::vector second{ip(2), ip(3)};
    EXPECT_TRUE(table_.set_addresses(eth, second));
    expect(0, link_local_gid(interface_mac), GidType::roce_v1);
    expect(2, ip(3), GidType::roce_v1);  // in the place of the one that has gone
    expect(3, ip(3), GidType::roce_v2);
    expect(4, ip(2), GidType::roce_v1);  // which has not moved
    EXPECT_TRUE(table_.set_addresses(eth, {}));
    EXPECT_FALSE(table_.at(2));
    expect(1, link_local_gid(interface_mac), GidType::roce_v2);
}

TEST_F(RoceGids, OfOtherInterfacesStay) {
    ASSERT_TRUE(table_.add_interface(tagged, interface_mac, 7));
    ASSERT_TRUE(table_.add_address(tagged, ip(9)));
    EXPECT_FALSE(table_.set_addresses(eth, {}));
    EXPECT_EQ(table_.find(ip(9), GidType::roce_v2, 7), 3u);
}

}  // namespace
}  // namespace verbline::link
