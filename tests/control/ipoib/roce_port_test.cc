// SPDX-License-Identifier: BSD-3-Clause
#include "control/ipoib/roce_port.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/link/gid_table.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipoib.h"
#include "tests/support/counter.h"
#include "tests/support/fake_netdev.h"

namespace verbline::ipoib {
namespace {

constexpr wire::MacAddress mac_of(unsigned char last) {
    return {{std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{last}}};
}
constexpr auto our_mac = mac_of(1), peer_mac = mac_of(2);
constexpr wire::Qpn our_qpn{0x48}, peer_qpn{0x77};
constexpr wire::PKey pkey{0x8001};

struct RocePortTest : testing::Test {
    std::vector<std::string> said;
    test::FakeNetDevice device;
    RocePort port{{.mac = our_mac,
                   .qpn = our_qpn,
                   .pkey = pkey,
                   .device = &device,
                   .identify = [this](const auto& identity) { said.push_back(identity ? "identity" : "no identity"); },
                   .attach = [this](const auto&) { said.push_back("attach"); },
                   .up = [this] { said.push_back("up"); },
                   .down = [this] { said.push_back("down"); }}};
};

TEST_F(RocePortTest, IsUpWhileTheLinkIs) {
    EXPECT_FALSE(port.up());
    port.carrier_changed(true);
    EXPECT_TRUE(port.up());
    port.carrier_changed(false);
    EXPECT_FALSE(port.up());
    EXPECT_EQ(said, (std::vector<std::string>{"identity", "attach", "up", "down", "no identity"}));
    EXPECT_EQ(device.identity.qpn, our_qpn);
    ASSERT_EQ(device.groups.size(), 1u);
    EXPECT_EQ(device.groups[0].mgid, wire::ipoib_broadcast_mgid(pkey));
}

TEST_F(RocePortTest, FollowsTheAddressesOfItsDevice) {
    port.carrier_changed(true);
    EXPECT_EQ(port.address(), (wire::IpoibAddress{.qpn = our_qpn, .gid = link::link_local_gid(our_mac)}));
    port.carrier_changed(false);
    device.end = pmd::DatagramEnd{wire::Qpn{0x123}, link::link_local_gid(peer_mac)};
    port.carrier_changed(true);
    EXPECT_EQ(port.address(), (wire::IpoibAddress{.qpn = wire::Qpn{0x123}, .gid = link::link_local_gid(peer_mac)}));
    EXPECT_EQ(port.identity().port.mac, peer_mac);
}

TEST_F(RocePortTest, LocatesNeighboursByTheirGids) {
    const auto to = port.locate({.qpn = peer_qpn, .gid = link::link_local_gid(peer_mac)}, wire::ether_type::ipv4);
    ASSERT_TRUE(to);
    EXPECT_EQ(to->qpn, peer_qpn);
    EXPECT_EQ(wire::Ethernet::parse(to->header.view())->destination, peer_mac);
    EXPECT_FALSE(port.locate({.qpn = peer_qpn, .gid = wire::Gid::of(0xfd00'0000'0000'0000, wire::Guid{1})},
                             wire::ether_type::ipv4));
    EXPECT_EQ(test::counter(port, "neighbours_unreachable"), 1u);
}

TEST_F(RocePortTest, BroadcastsToTheGroupOfItsPartition) {
    const auto to = port.broadcast(wire::ether_type::arp);
    EXPECT_EQ(to.qpn, wire::multicast_qpn);
    EXPECT_EQ(to.address.dgid, wire::ipoib_broadcast_mgid(pkey));
}

}  // namespace
}  // namespace verbline::ipoib
