// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/node/member_port.h"

#include "tests/datapath/node/ports.h"

namespace verbline::node {
namespace {

using test::datagram, test::frame_to, test::member_5, test::member_6, test::our_mac, test::their_mac, test::with_macs;

struct MemberPortTest : test::PortTest {
    std::unique_ptr<MemberPort> port = MemberPort::create(make_device(), {*queue, targets}, member_5, our_mac).value();

    std::uint64_t counter(std::string_view name) { return test::counter(*port, name); }
};

TEST_F(MemberPortTest, TheSwitchKnowsAMemberByItsMacAddress) {
    device->receive(frame_to(wire::Qpn{99}));
    const auto packets = receive(*port);
    ASSERT_EQ(packets.size(), 1u);
    EXPECT_EQ(test::source_of(packets[0]), link::mac_of(member_5));
    EXPECT_EQ(test::destination_of(packets[0]), their_mac);
    EXPECT_TRUE(test::open_frame(test::bytes_of(packets[0]))) << "the ICRC does not cover the MAC addresses";
}

TEST_F(MemberPortTest, WhatIsForTheNodeIsForTheMemberWithThatQueuePair) {
    device->receive(with_macs(frame_to(wire::Qpn{link::first_qpn(member_6) + 17}), our_mac, our_mac));
    const auto packets = receive(*port);
    ASSERT_EQ(packets.size(), 1u);
    EXPECT_EQ(test::destination_of(packets[0]), link::mac_of(member_6));
}

TEST_F(MemberPortTest, ThePortMayHaveAnotherAddress) {
    const auto now = test::mac_ending(9);
    port->set_port(now);
    device->receive(with_macs(frame_to(wire::Qpn{link::first_qpn(member_6) + 17}), now, now));
    const auto packets = receive(*port);
    ASSERT_EQ(packets.size(), 1u);
    EXPECT_EQ(test::source_of(packets[0]), link::mac_of(member_5));
    EXPECT_EQ(test::destination_of(packets[0]), link::mac_of(member_6));
}

TEST_F(MemberPortTest, AnotherSourceAddressIsLeftToTheSwitchToRefuse) {
    device->receive(with_macs(frame_to(wire::Qpn{99}), their_mac, link::mac_of(member_6)));
    const auto packets = receive(*port);
    ASSERT_EQ(packets.size(), 1u);
    EXPECT_EQ(test::source_of(packets[0]), link::mac_of(member_6));
}

TEST_F(MemberPortTest, MadsGoToTheControlThread) {
    device->receive(datagram(wire::gsi_qpn, wire::gsi_qpn));
    EXPECT_TRUE(receive(*port).empty());
    const auto mads = at_control();
    ASSERT_EQ(mads.size(), 1u);
    EXPECT_EQ(GsiQueue::origin(*mads[0]), member_5);
    EXPECT_EQ(counter("gsi_rx_packets"), 1u);
}

TEST_F(MemberPortTest, ABurstOfMadsHidesNothingBehindIt) {
    for (int i = 0; i < 8; ++i) device->receive(datagram(wire::gsi_qpn, wire::gsi_qpn));
    device->receive(frame_to(wire::Qpn{99}));
    EXPECT_EQ(receive(*port).size(), 1u);
}

TEST_F(MemberPortTest, DatagramsComeFromItsOwnQueuePairs) {
    const wire::Qpn own{link::first_qpn(member_5) + 20}, other{link::first_qpn(member_6) + 20};
    device->receive(datagram(own, wire::Qpn{99}));
    EXPECT_EQ(receive(*port).size(), 1u);
    device->receive(datagram(other, wire::Qpn{99}));
    device->receive(datagram(wire::gsi_qpn, wire::Qpn{99}));
    device->receive(datagram(other, wire::gsi_qpn));
    device->receive(frame_to(wire::gsi_qpn));                     // RC to QP1
    device->receive(frame_to(wire::Qpn{0}, test::ud_send_only));  // QP0
    EXPECT_TRUE(receive(*port).empty());
    EXPECT_EQ(counter("rx_dropped_foreign_qpn"), 5u);
    EXPECT_TRUE(at_control().empty());
}

TEST_F(MemberPortTest, CarriesNothingButRdma) {
    auto arp = frame_to(wire::Qpn{99});
    arp[12] = std::byte{8}, arp[13] = std::byte{6};
    device->receive(arp);
    EXPECT_TRUE(receive(*port).empty());
    EXPECT_EQ(counter("rx_dropped_not_rdma"), 1u);
}

TEST_F(MemberPortTest, AFloodOfMadsLeavesRoomForOthers) {
    auto* const floods = device;
    const auto other = MemberPort::create(make_device(), {*queue, targets}, member_6, our_mac).value();
    std::array<rte_mbuf*, 8> burst;
    const auto flood = [&] {
        floods->receive(datagram(wire::gsi_qpn, wire::gsi_qpn));
        EXPECT_EQ(port->rx_burst(0, burst), 0u);
    };
    for (unsigned i = 0; i < GsiQueue::most_of_member + 8; ++i) flood();
    EXPECT_EQ(counter("gsi_rx_packets"), GsiQueue::most_of_member);
    EXPECT_EQ(counter("gsi_rx_dropped_full"), 8u);
    device->receive(datagram(wire::gsi_qpn, wire::gsi_qpn));
    EXPECT_EQ(other->rx_burst(0, burst), 0u);
    EXPECT_EQ(test::counter(*other, "gsi_rx_packets"), 1u);
    while (!at_control().empty()) {}
    flood();
    EXPECT_EQ(counter("gsi_rx_packets"), GsiQueue::most_of_member + 1u) << "there is room again";
    while (!at_control().empty()) {}
}

TEST_F(MemberPortTest, WhatTheControlThreadInjectsIsSentWithTheNextPoll) {
    port->inject(test::make_packet(datagram(wire::gsi_qpn, wire::gsi_qpn)).release());
    EXPECT_TRUE(device->sent.empty());
    EXPECT_TRUE(receive(*port).empty());
    EXPECT_EQ(device->sent.size(), 1u);
    device->tx_room = 0;
    port->inject(test::make_packet(datagram(wire::gsi_qpn, wire::gsi_qpn)).release());
    EXPECT_TRUE(receive(*port).empty());
    EXPECT_EQ(counter("gsi_tx_packets"), 1u);
    EXPECT_EQ(counter("gsi_tx_dropped_full"), 1u);
}

}  // namespace
}  // namespace verbline::node
