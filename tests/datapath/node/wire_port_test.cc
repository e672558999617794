// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/node/wire_port.h"

#include "datapath/wire/ipoib.h"
#include "datapath/wire/text.h"
#include "tests/datapath/node/ports.h"

namespace verbline::node {
namespace {

using test::datagram, test::frame_to, test::member_6, test::our_mac, test::their_mac, test::with_macs;

struct WirePortTest : test::PortTest {
    std::unique_ptr<WirePort> port = WirePort::create(make_device(), {*queue, targets}, our_mac).value();
};

TEST_F(WirePortTest, TheQueuePairNumberNamesTheMember) {
    device->receive(with_macs(frame_to(wire::Qpn{link::first_qpn(member_6) + 17}), our_mac, their_mac));
    const auto packets = receive(*port);
    ASSERT_EQ(packets.size(), 1u);
    EXPECT_EQ(test::destination_of(packets[0]), link::mac_of(member_6));
    EXPECT_EQ(test::source_of(packets[0]), their_mac);
    EXPECT_TRUE(test::open_frame(test::bytes_of(packets[0])));
}

TEST_F(WirePortTest, ThePortMayHaveAnotherAddress) {
    const auto now = test::mac_ending(9);
    port->set_port(now);
    device->receive(with_macs(frame_to(wire::Qpn{link::first_qpn(member_6) + 17}), our_mac, their_mac));
    EXPECT_TRUE(receive(*port).empty()) << "that is nobody's any more";
    device->receive(with_macs(frame_to(wire::Qpn{link::first_qpn(member_6) + 17}), now, their_mac));
    EXPECT_EQ(receive(*port).size(), 1u);
    std::array<rte_mbuf*, 1> burst{
        test::make_packet(with_macs(frame_to(wire::Qpn{99}), their_mac, link::mac_of(member_6))).release()};
    ASSERT_EQ(port->tx_burst(0, burst), 1u);
    EXPECT_EQ(test::source_of(device->sent.front()), now);
}

TEST_F(WirePortTest, MadsGoToTheControlThread) {
    device->receive(with_macs(datagram(wire::gsi_qpn, wire::gsi_qpn), our_mac, their_mac));
    EXPECT_TRUE(receive(*port).empty());
    const auto mads = at_control();
    ASSERT_EQ(mads.size(), 1u);
    EXPECT_EQ(GsiQueue::origin(*mads[0]), link::node_itself);
}

TEST_F(WirePortTest, GroupsPassAndAllElseIsNotForMembers) {
    const auto group = link::multicast_mac(link::Carrier::roce_v2_ipv4, link::gid_of(wire::ipv4(239, 1, 1, 1)));
    device->receive(with_macs(frame_to(wire::Qpn{0xff'ffff}, test::ud_send_only), group, their_mac));
    device->receive(with_macs(frame_to(wire::Qpn{99}), their_mac, test::mac_ending(3)));
    auto arp = with_macs(frame_to(wire::Qpn{99}), wire::broadcast_mac, their_mac);
    arp[12] = std::byte{8}, arp[13] = std::byte{6};
    device->receive(arp);
    const auto packets = receive(*port);
    ASSERT_EQ(packets.size(), 1u);
    EXPECT_EQ(test::destination_of(packets[0]), group);
    EXPECT_EQ(test::counter(*port, "rx_ignored"), 2u);
}

/// A multicast packet of the soft fabric, to this group.
test::ByteVector fabric_frame(const wire::Gid& group) {
    auto way = test::ways().back();
    way.to.dlid = wire::Lid{0xc001};
    way.to.dgid = group;
    return test::frame_on(test::envelope_of(way), 32, {.opcode = wire::ud_send_only, .dest = wire::multicast_qpn});
}

TEST_F(WirePortTest, AddressResolutionOfTheFabricIsForTheNodeToo) {
    const auto solicited =
        wire::ipoib_multicast_mgid(*wire::from_string<wire::Ipv6Address>("ff02::1:ff00:3"), wire::PKey{0xffff});
    device->receive(fabric_frame(wire::ipoib_broadcast_mgid(wire::PKey{0xffff})));
    device->receive(fabric_frame(solicited));
    device->receive(fabric_frame(wire::ipoib_multicast_mgid(wire::ipv4(239, 1, 1, 1), wire::PKey{0xffff})));
    EXPECT_EQ(receive(*port).size(), 3u) << "members may be in these groups";
    EXPECT_EQ(at_control().size(), 2u);
    device->receive(with_macs(frame_to(link::node_ipoib_qpn, test::ud_send_only), our_mac, their_mac));
    EXPECT_TRUE(receive(*port).empty());
    EXPECT_EQ(at_control().size(), 1u);
}

TEST_F(WirePortTest, OnTheWireAllHaveThePortsAddress) {
    std::array<rte_mbuf*, 1> burst{
        test::make_packet(with_macs(frame_to(wire::Qpn{99}), their_mac, link::mac_of(member_6))).release()};
    ASSERT_EQ(port->tx_burst(0, burst), 1u);
    EXPECT_EQ(test::source_of(device->sent.front()), our_mac);
}

}  // namespace
}  // namespace verbline::node
