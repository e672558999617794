// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/transmit_end.h"

#include <array>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/discovery.h"
#include "pmd/base/clock.h"
#include "tests/apps/net_ipoib/ends.h"

namespace verbline::net_ipoib {
namespace {

using test::own, test::host, test::own_mac, test::host_mac;

using Packets = std::vector<test::ByteVector>;

constexpr auto group = wire::ipv4(239, 1, 2, 3);
constexpr wire::MacAddress mac_of_group{
    {std::byte{0x01}, std::byte{0}, std::byte{0x5e}, std::byte{1}, std::byte{2}, std::byte{3}}};

class TransmitEndTest : public testing::Test {
protected:
    TransmitEndTest() {
        end.link().set_port(own);
        end.set_broadcast(test::to_group(own, wire::Lid{0xc000}));
        end.set_host(host_mac, test::to(own, host), test::to(own, host, wire::ether_type::ipv6));
        receiver.set_port(host);
        receiver.attach(test::broadcast);
    }
    std::uint16_t transmit(rte_mbuf* frame) { return end.transmit({&frame, 1}); }
    std::uint16_t transmit(wire::MacAddress to, wire::EtherType type, const test::ByteVector& packet) {
        return transmit(test::make_packet(test::framed(to, own_mac, type, packet)).release());
    }
    /// What arrives at the host, of IPv4.
    std::vector<test::ByteVector> arrived() {
        for (auto& frame : device.sent) host_device.to_receive.push_back(std::move(frame));
        device.sent.clear();
        link::Reception received;
        receiver.receive(received);
        std::vector<test::ByteVector> packets;
        for (auto* packet : std::span(received.ip).first(received.ip_count))
            packets.push_back(test::bytes_of(test::Packet(packet)));
        return packets;
    }
    std::uint64_t count(std::string_view name) const { return test::counter(end, name); }

    verbline::test::FakeNetDevice device, host_device;
    ipoib::IpoibInterface receiver{host_device, 0, *verbline::test::packet_pool()};
    std::unique_ptr<router::Ring<router::Event>> events = test::make_events("transmit_end_events");
    TransmitEnd end{{.device = &device, .pool = verbline::test::packet_pool(), .events = events.get(), .mtu = 1500}};
};

TEST_F(TransmitEndTest, AFrameReachesTheHostOfItsMac) {
    const auto packet = test::ipv4_packet(wire::ipv4(10, 2, 0, 2));
    EXPECT_EQ(transmit(host_mac, wire::ether_type::ipv4, packet), 1);
    EXPECT_EQ(arrived(), Packets{packet});
    EXPECT_EQ(count("tx_frames"), 1u);
}

TEST_F(TransmitEndTest, BroadcastsReachTheBroadcastGroup) {
    const auto packet = test::ipv4_packet(wire::ipv4(10, 2, 0, 255));
    transmit(wire::broadcast_mac, wire::ether_type::ipv4, packet);
    EXPECT_EQ(arrived(), Packets{packet});
}

TEST_F(TransmitEndTest, AGroupIsAskedForOnceAndItsPacketsWait) {
    const auto packet = test::ipv4_packet(group);
    constexpr auto most = forward::NeighbourTable<link::Destination>::max_waiting;
    for (std::size_t i = 0; i < most + 2; ++i) transmit(mac_of_group, wire::ether_type::ipv4, packet);
    EXPECT_TRUE(arrived().empty());
    EXPECT_TRUE(end.unfinished());
    const auto asked = test::next<router::Unresolved>(*events);
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->address, link::gid_of(group));
    EXPECT_FALSE(events->pop());
    end.set_group(link::gid_of(group), test::to_group(own, wire::Lid{0xc000}));
    EXPECT_EQ(arrived(), Packets(most, packet)) << "they have waited";
    EXPECT_EQ(count("dropped_wait_queue_full"), 2u);
    transmit(mac_of_group, wire::ether_type::ipv4, packet);
    EXPECT_EQ(arrived().size(), 1u);
    EXPECT_FALSE(end.unfinished());
}

TEST_F(TransmitEndTest, AGroupThatNobodyLetsUsInto) {
    transmit(mac_of_group, wire::ether_type::ipv4, test::ipv4_packet(group));
    ASSERT_TRUE(test::next<router::Unresolved>(*events));
    end.fail_group(link::gid_of(group));
    EXPECT_EQ(count("neighbours_failed"), 1u);
    transmit(mac_of_group, wire::ether_type::ipv4, test::ipv4_packet(group));
    EXPECT_TRUE(test::next<router::Unresolved>(*events)) << "asked for again";
    end.look_after(monotonic_now() + 60 * second);
    EXPECT_FALSE(end.unfinished()) << "an answer that never came";
}

TEST_F(TransmitEndTest, ReportsOfMembershipGoOnAndToTheControlThread) {
    constexpr wire::IpProtocol igmp{2};
    end.set_group(link::gid_of(group), test::to_group(own, wire::Lid{0xc000}));
    const auto report = test::ipv4_packet(group, 32, igmp);
    transmit(mac_of_group, wire::ether_type::ipv4, report);
    EXPECT_EQ(arrived(), Packets{report});
    const auto heard = test::next<router::MembershipHeard>(*events);
    ASSERT_TRUE(heard);
    EXPECT_TRUE(heard->from_kernel);
    EXPECT_EQ(test::bytes_of(test::Packet(heard->packet)), report);
}

TEST_F(TransmitEndTest, ArpAndDiscoveryAreTheControlThreads) {
    transmit(wire::broadcast_mac, wire::ether_type::arp, verbline::test::pattern(28));
    test::ByteVector solicitation(neighbour::discovery_size<wire::MacAddress>);
    neighbour::write_discovery(
        solicitation, neighbour::request(own_mac, wire::Gid::of(1, wire::Guid{2}), wire::Gid::of(1, wire::Guid{1})),
        false);
    transmit(host_mac, wire::ether_type::ipv6, solicitation);
    for (const auto type : {wire::ether_type::arp, wire::ether_type::ipv6}) {
        const auto event = test::next<router::Punted>(*events);
        ASSERT_TRUE(event);
        EXPECT_EQ(event->type, type);
        const test::Packet packet(event->packet);
        EXPECT_EQ(wire::Ethernet::parse(test::bytes_of(packet))->type, type) << "with its Ethernet header";
    }
}

TEST_F(TransmitEndTest, DropsByName) {
    const auto good = test::ipv4_packet(wire::ipv4(10, 2, 0, 2));
    auto unknown = host_mac;
    unknown.bytes[5] = std::byte{9};
    transmit(unknown, wire::ether_type::ipv4, good);
    EXPECT_EQ(count("tx_dropped_unknown_mac"), 1u);
    transmit(host_mac, wire::EtherType{0x8100}, good);
    EXPECT_EQ(count("tx_dropped_vlan"), 1u);
    transmit(host_mac, wire::EtherType{0x88cc}, good);
    EXPECT_EQ(count("tx_dropped_ethertype_of_program"), 1u);
    transmit(mac_of_group, wire::ether_type::ipv4, good);
    EXPECT_EQ(count("tx_dropped_group_mismatch"), 1u);
    transmit(host_mac, wire::ether_type::ipv4, test::ipv4_packet(wire::ipv4(10, 2, 0, 2), 1501));
    EXPECT_EQ(count("tx_dropped_too_long"), 1u);
    transmit(host_mac, wire::ether_type::ipv4, {good.begin(), good.begin() + 19});
    transmit(test::make_packet(verbline::test::pattern(13)).release());
    EXPECT_EQ(count("tx_dropped_malformed"), 2u);
    EXPECT_TRUE(arrived().empty());
    end.forget_host(host_mac);
    transmit(host_mac, wire::ether_type::ipv4, good);
    EXPECT_EQ(count("tx_dropped_unknown_mac"), 2u);
}

TEST_F(TransmitEndTest, CopiesWhatTheProgramStillHolds) {
    const auto packet = test::ipv4_packet(wire::ipv4(10, 2, 0, 2));
    const auto frame = test::framed(host_mac, own_mac, wire::ether_type::ipv4, packet);
    const auto held = test::make_packet(frame);
    rte_mbuf_refcnt_update(held.get(), 1);
    transmit(held.get());
    EXPECT_EQ(arrived(), Packets{packet});
    EXPECT_EQ(test::bytes_of(held), frame) << "as it was";
    EXPECT_EQ(count("tx_copied"), 1u);
    // A chain, and a frame without headroom.
    transmit(test::make_packet(frame, 40).release());
    auto tight = test::make_packet(frame);
    rte_pktmbuf_prepend(tight.get(), rte_pktmbuf_headroom(tight.get()));
    std::memcpy(rte_pktmbuf_mtod(tight.get(), void*), frame.data(), frame.size());
    rte_pktmbuf_trim(tight.get(), static_cast<std::uint16_t>(tight->pkt_len - frame.size()));
    transmit(tight.release());
    EXPECT_EQ(arrived(), (Packets{packet, packet}));
    EXPECT_EQ(count("tx_copied"), 3u);
}

/// The program asks for checksums as of a device; software computes them.
TEST_F(TransmitEndTest, ChecksumsAreComputed) {
    auto packet = test::ipv4_packet(wire::ipv4(10, 2, 0, 2));
    const auto with = packet;
    packet[10] = packet[11] = std::byte{0};
    auto frame = test::make_packet(test::framed(host_mac, own_mac, wire::ether_type::ipv4, packet));
    frame->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM;
    frame->l2_len = wire::Ethernet::size;
    frame->l3_len = wire::Ipv4::size;
    transmit(frame.release());
    EXPECT_EQ(arrived(), Packets{with});
}

TEST_F(TransmitEndTest, ABusyDeviceIsBackpressure) {
    device.tx_room = 0;
    std::vector<rte_mbuf*> frames;
    for (int i = 0; i < 2'000; ++i) {
        auto frame = test::make_packet(
            test::framed(host_mac, own_mac, wire::ether_type::ipv4, test::ipv4_packet(wire::ipv4(10, 2, 0, 2))));
        if (!frame) break;
        frames.push_back(frame.release());
    }
    const auto taken = end.transmit(frames);
    EXPECT_LT(taken, frames.size());
    EXPECT_GT(taken, 0);
    EXPECT_TRUE(end.unfinished());
    EXPECT_EQ(count("tx_dropped_congested"), 0u) << "what is not taken is the program's";
    for (auto* frame : std::span(frames).subspan(taken)) rte_pktmbuf_free(frame);
    device.tx_room = std::numeric_limits<std::size_t>::max();
    end.look_after(monotonic_now());
    EXPECT_EQ(device.sent.size(), taken);
    EXPECT_FALSE(end.unfinished());
}

TEST_F(TransmitEndTest, AQueueThatIsChangedForLongTakesNothing) {
    const pmd::QuiescentGate::Hold hold(end.gate());
    auto frame = test::make_packet(
        test::framed(host_mac, own_mac, wire::ether_type::ipv4, test::ipv4_packet(wire::ipv4(10, 2, 0, 2))));
    EXPECT_EQ(transmit(frame.get()), 0);
    EXPECT_EQ(count("tx_refused_bursts"), 1u);
}

}  // namespace
}  // namespace verbline::net_ipoib
