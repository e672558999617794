// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/receive_end.h"

#include <rte_mempool.h>

#include <gtest/gtest.h>

#include "datapath/link/gid_table.h"
#include "datapath/neighbour/discovery.h"
#include "tests/apps/net_ipoib/ends.h"

namespace verbline::net_ipoib {
namespace {

using test::own, test::host, test::own_mac, test::host_mac;

class ReceiveEndTest : public testing::Test {
protected:
    explicit ReceiveEndTest(ReceiveEnd::Setup setup = {}) {
        setup.device = &device;
        setup.frames = verbline::test::packet_pool();
        if (setup.packets == nullptr) setup.packets = setup.frames;
        setup.events = events.get();
        setup.port = 7;
        end = std::move(*ReceiveEnd::create(setup));
        end->link().set_port(own);
        end->link().attach(test::broadcast);
        end->set_mac(own_mac);
        end->set_sender({.lid = host.port.lid, .qpn = host.qpn}, host_mac);
        sender.set_port(host);
    }
    /// The host sends a packet.
    void send(const test::ByteVector& packet, const link::Destination& to) {
        sender.transmit(test::make_packet(packet).release(), to);
        sender.flush();
        for (auto& frame : host_device.sent) device.to_receive.push_back(std::move(frame));
        host_device.sent.clear();
    }
    std::vector<test::Packet> receive(std::size_t most = 32) {
        std::vector<rte_mbuf*> out(most);
        std::vector<test::Packet> got;
        const auto n = end->receive(out);
        for (auto* frame : std::span(out).first(n)) got.emplace_back(frame);
        return got;
    }

    verbline::test::FakeNetDevice device, host_device;
    ipoib::IpoibInterface sender{host_device, 0, *verbline::test::packet_pool()};
    std::unique_ptr<router::Ring<router::Event>> events = test::make_events("receive_end_events");
    std::unique_ptr<ReceiveEnd> end;
};

TEST_F(ReceiveEndTest, APacketBecomesAFrameFromItsHost) {
    const auto packet = test::ipv4_packet(wire::ipv4(10, 2, 0, 1));
    send(packet, test::to(host, own));
    const auto got = receive();
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(test::bytes_of(got[0]), test::framed(own_mac, host_mac, wire::ether_type::ipv4, packet));
    EXPECT_EQ(got[0]->port, 7);
    EXPECT_EQ(test::counter(*end, "rx_frames"), 1u);
    EXPECT_EQ(test::counter(*end, "rx_frame_bytes"), packet.size() + 14);
}

/// On RoCE all hosts of ours have the same queue pair number, and no LID.
TEST_F(ReceiveEndTest, OnRoceHostsAreKnownByTheirMac) {
    const auto on_roce = [](const wire::MacAddress& mac) {
        return ipoib::Identity{
            .port = {.carrier = link::Carrier::roce_v2_ipv6, .mac = mac, .gid = link::link_local_gid(mac)},
            .qpn = host.qpn,
            .qkey = host.qkey};
    };
    const auto first = *wire::from_string<wire::MacAddress>("02:00:00:00:00:11");
    const auto second = *wire::from_string<wire::MacAddress>("02:00:00:00:00:12");
    const auto us = on_roce(own_mac);
    end->link().set_port(us);
    end->set_sender({.mac = first, .qpn = host.qpn}, first);
    end->set_sender({.mac = second, .qpn = host.qpn}, second);
    for (const auto& mac : {second, first}) {
        sender.set_port(on_roce(mac));
        send(test::ipv4_packet(wire::ipv4(10, 2, 0, 1)),
             ipoib::destination(on_roce(mac), {.global = true, .dgid = us.port.gid}, us.qpn, wire::ether_type::ipv4,
                                own_mac));
        const auto got = receive();
        ASSERT_EQ(got.size(), 1u);
        EXPECT_EQ(wire::Ethernet::parse(test::bytes_of(got[0]))->source, mac);
    }
}

TEST_F(ReceiveEndTest, GroupsHaveTheirMac) {
    send(test::ipv4_packet(wire::ipv4(239, 1, 2, 3)), test::to_group(host, wire::Lid{0xc000}));
    send(test::ipv4_packet(wire::ipv4(10, 2, 0, 255)), test::to_group(host, wire::Lid{0xc000}));
    const auto got = receive();
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(wire::Ethernet::parse(test::bytes_of(got[0]))->destination,
              *wire::from_string<wire::MacAddress>("01:00:5e:01:02:03"));
    EXPECT_EQ(wire::Ethernet::parse(test::bytes_of(got[1]))->destination, wire::broadcast_mac);
}

TEST_F(ReceiveEndTest, AHostThatHasNotNamedItselfHasACommonAddress) {
    end->set_sender({.lid = host.port.lid, .qpn = host.qpn}, std::nullopt);
    send(test::ipv4_packet(wire::ipv4(10, 2, 0, 1)), test::to(host, own));
    const auto got = receive();
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(wire::Ethernet::parse(test::bytes_of(got[0]))->source, ReceiveEnd::unknown_sender);
    EXPECT_EQ(test::counter(*end, "rx_unknown_sender"), 1u);
}

TEST_F(ReceiveEndTest, ArpAndDiscoveryAreTheControlThreads) {
    send(verbline::test::pattern(56), test::to(host, own, wire::ether_type::arp));
    test::ByteVector solicitation(neighbour::max_discovery_size);
    const wire::IpoibAddress link{.qpn = host.qpn, .gid = host.port.gid};
    neighbour::write_discovery(
        solicitation, neighbour::request(link, wire::Gid::of(1, wire::Guid{2}), wire::Gid::of(1, wire::Guid{1})),
        false);
    send(solicitation, test::to(host, own, wire::ether_type::ipv6));
    EXPECT_TRUE(receive().empty());
    for (const auto type : {wire::ether_type::ipv6, wire::ether_type::arp}) {
        const auto event = test::next<router::Punted>(*events);
        ASSERT_TRUE(event);
        EXPECT_EQ(event->type, type);
        rte_pktmbuf_free(event->packet);
    }
}

TEST_F(ReceiveEndTest, WhatTheControlThreadHasForTheProgram) {
    end->deliver(test::make_packet(verbline::test::pattern(60)).release());
    const auto got = receive();
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(test::bytes_of(got[0]), verbline::test::pattern(60));
    for (int i = 0; i < 300; ++i) end->deliver(test::make_packet(verbline::test::pattern(60)).release());
    EXPECT_GT(test::counter(*end, "rx_dropped_program_busy"), 0u) << "bounded";
}

TEST_F(ReceiveEndTest, ShortBurstsLoseNothing) {
    for (int i = 0; i < 10; ++i)
        send(test::ipv4_packet(wire::ipv4(10, 2, 0, 1), 60u + static_cast<unsigned>(i)), test::to(host, own));
    std::size_t total = 0;
    while (true) {
        const auto got = receive(3);
        if (got.empty()) break;
        for (const auto& frame : got) EXPECT_EQ(frame->pkt_len, 74 + total++);
    }
    EXPECT_EQ(total, 10u);
}

TEST_F(ReceiveEndTest, GivesNothingWhileTheControlThreadChangesIt) {
    send(test::ipv4_packet(wire::ipv4(10, 2, 0, 1)), test::to(host, own));
    {
        const pmd::QuiescentGate::Hold hold(end->gate());
        EXPECT_TRUE(receive().empty());
    }
    EXPECT_EQ(receive().size(), 1u);
}

class ReceiveEndThatCopies : public ReceiveEndTest {
protected:
    ReceiveEndThatCopies() : ReceiveEndTest({.packets = small(), .checksums = true}) {}
    ~ReceiveEndThatCopies() override {
        end.reset();
        rte_mempool_free(small_pool);
    }
    static rte_mempool* small() {
        verbline::test::packet_pool();  // EAL
        return rte_pktmbuf_pool_create("receive_end_small", 64, 0, 16, RTE_PKTMBUF_HEADROOM + 256, SOCKET_ID_ANY);
    }
    rte_mempool* const small_pool = &end->packets();
};

TEST_F(ReceiveEndThatCopies, IntoTheProgramsBuffers) {
    const auto packet = test::ipv4_packet(wire::ipv4(10, 2, 0, 1));
    send(packet, test::to(host, own));
    const auto got = receive();
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0]->pool, small_pool);
    EXPECT_EQ(test::bytes_of(got[0]), test::framed(own_mac, host_mac, wire::ether_type::ipv4, packet));
    send(test::ipv4_packet(wire::ipv4(10, 2, 0, 1), 300), test::to(host, own));
    EXPECT_TRUE(receive().empty());
    EXPECT_EQ(test::counter(*end, "rx_dropped_too_long"), 1u) << "the program asked for no chains";
}

TEST_F(ReceiveEndThatCopies, VerifiesChecksums) {
    auto packet = test::ipv4_packet(wire::ipv4(10, 2, 0, 1), 60, wire::IpProtocol{253});
    send(packet, test::to(host, own));
    packet[12] ^= std::byte{1};
    send(packet, test::to(host, own));
    const auto got = receive();
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(got[0]->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK, RTE_MBUF_F_RX_IP_CKSUM_GOOD);
    EXPECT_EQ(got[1]->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK, RTE_MBUF_F_RX_IP_CKSUM_BAD);
    EXPECT_EQ(test::counter(*end, "rx_checksum_bad"), 1u);
}

TEST_F(ReceiveEndThatCopies, SaysWhenTheProgramsPoolIsEmpty) {
    std::vector<test::Packet> held;
    while (auto* packet = rte_pktmbuf_alloc(small_pool)) held.emplace_back(packet);
    send(test::ipv4_packet(wire::ipv4(10, 2, 0, 1)), test::to(host, own));
    EXPECT_TRUE(receive().empty());
    EXPECT_EQ(test::counter(*end, "rx_dropped_no_mbuf"), 1u);
}

}  // namespace
}  // namespace verbline::net_ipoib
