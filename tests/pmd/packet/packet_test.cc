// SPDX-License-Identifier: BSD-3-Clause
// A veth pair, with a device of ours at each end, or the kernel at one.
#include "pmd/packet/packet.h"

#include <chrono>
#include <string>
#include <thread>

#include <fcntl.h>
#include <linux/if_ether.h>
#include <poll.h>

#include <gtest/gtest.h>

#include "datapath/wire/ethernet.h"
#include "datapath/wire/text.h"
#include "tests/support/counter.h"
#include "tests/support/namespace.h"
#include "tests/support/packet.h"

namespace verbline::pmd {
namespace {

using test::packet_pool;

/// An Ethernet frame of `size` bytes with a pattern behind its header.
test::ByteVector frame(wire::EtherType type, std::size_t size,
                       wire::MacAddress to = {{std::byte{2}, {}, {}, {}, {}, {}}}) {
    auto bytes = test::pattern(size);
    wire::Ethernet{to, {{std::byte{2}, {}, {}, {}, {}, std::byte{9}}}, type}.emit(std::span(bytes).first<14>());
    return bytes;
}

/// One that passes every filter.
test::ByteVector roce(std::size_t size) {
    return frame(wire::ether_type::roce_v1, size);
}

struct PacketTest : ::testing::Test {
    void SetUp() override {
        SKIP_UNLESS_ROOT();
        space.emplace();
        space->run(
            "ip link add v0 address 02:00:00:00:00:00 mtu 9000 type veth peer name v1 address 02:00:00:00:00:01 mtu "
            "9000");
        space->run("sysctl -qw net.ipv6.conf.all.disable_ipv6=1");
        space->run("ip link set v0 up");
        space->run("ip link set v1 up");
    }
    Result<std::unique_ptr<AfPacket>> try_open(const PacketOptions& options) const {
        Result<std::unique_ptr<AfPacket>> device = nullptr;
        space->enter([&] { device = AfPacket::create(options, packet_pool()); });
        return device;
    }
    std::unique_ptr<AfPacket> open(const PacketOptions& options) const {
        auto device = try_open(options);
        if (!device) throw std::runtime_error(device.error().what);
        EXPECT_TRUE((*device)->up());
        return std::move(*device);
    }

    std::optional<test::Namespace> space;
};

bool readable(const AfPacket& device, int milliseconds) {
    pollfd wait{.fd = device.rx_event(0), .events = POLLIN};
    return poll(&wait, 1, milliseconds) == 1;
}

bool send(AfPacket& device, const test::ByteVector& bytes, std::size_t segment = 2304) {
    auto* packet = test::make_packet(bytes, segment).release();
    if (device.tx_burst(0, std::span(&packet, 1)) == 1) return true;
    rte_pktmbuf_free(packet);
    return false;
}

/// The next frame, within the time that anything takes on a busy machine.
test::Packet receive(AfPacket& device) {
    rte_mbuf* packet = nullptr;
    for (unsigned i = 0; i < 20 && device.rx_burst(0, std::span(&packet, 1)) == 0; ++i) readable(device, 500);
    return test::Packet(packet);
}
test::Packet receive_now(AfPacket& device) {
    rte_mbuf* packet = nullptr;
    device.rx_burst(0, std::span(&packet, 1));
    return test::Packet(packet);
}

using test::counter;

TEST_F(PacketTest, FramesOfAnySizeCrossWhole) {
    const auto a = open({.interface = "v0"}), b = open({.interface = "v1"});
    EXPECT_EQ(wire::to_string(*b->mac()), "02:00:00:00:00:01");
    EXPECT_EQ(b->capabilities().max_packet, 9014u);
    EXPECT_TRUE(b->link_up());
    for (const std::size_t size : {14u, 60u, 1514u, 2290u, 4200u, 9014u}) {
        for (const std::size_t segment : {2304u, 1200u}) {
            ASSERT_TRUE(send(*a, roce(size), segment));
            ASSERT_TRUE(readable(*b, 10'000));
            EXPECT_EQ(test::bytes_of(receive(*b)), roce(size)) << size;
            EXPECT_FALSE(readable(*b, 0));
        }
    }
    EXPECT_FALSE(receive_now(*a)) << "what we send does not come back";
    EXPECT_EQ(counter(*b, "rx_good_packets"), 12u);
    EXPECT_EQ(counter(*a, "tx_good_packets"), 12u);
}

TEST_F(PacketTest, BurstsKeepTheirOrderAroundTheRing) {
    const auto a = open({.interface = "v0"}), b = open({.interface = "v1", .ring_bytes = 64 << 10});
    unsigned sent = 0, received = 0;
    while (received < 3000) {
        std::array<rte_mbuf*, 32> burst;
        for (auto& packet : burst) packet = test::make_packet(roce(60 + sent++ % 500)).release();
        for (std::size_t at = 0; at < burst.size();) at += a->tx_burst(0, std::span(burst).subspan(at));
        while (received < sent) {
            const auto packet = receive(*b);
            ASSERT_TRUE(packet);
            ASSERT_EQ(test::bytes_of(packet), roce(60 + received++ % 500));
        }
    }
    EXPECT_EQ(counter(*b, "rx_missed"), 0u);
}

TEST_F(PacketTest, AFullRingLosesByName) {
    const auto a = open({.interface = "v0"}), b = open({.interface = "v1", .ring_bytes = 64 << 10});
    for (unsigned i = 0; i < 100; ++i) ASSERT_TRUE(send(*a, roce(60)));
    unsigned received = 0;
    while (receive_now(*b)) ++received;
    EXPECT_EQ(received, 64u);
    EXPECT_EQ(counter(*b, "rx_missed"), 36u);
    EXPECT_EQ(counter(*b, "rx_missed"), 36u) << "not forgotten by asking";
}

TEST_F(PacketTest, FilterReceivesOnlyRdmaTraffic) {
    const auto a = open({.interface = "v0"}), b = open({.interface = "v1"}),
               all = open({.interface = "v1", .only_rdma = false});
    const auto ip = [](wire::EtherType type, std::size_t protocol_at, unsigned protocol, std::size_t port_at,
                       unsigned port) {
        auto bytes = frame(type, 100);
        std::ranges::fill(std::span(bytes).subspan(14), std::byte{0});
        bytes[14] = std::byte{type == wire::ether_type::ipv4 ? std::uint8_t{0x46} : std::uint8_t{0x60}};
        bytes[protocol_at] = static_cast<std::byte>(protocol);
        wire::store16(bytes, port_at, port);
        return bytes;
    };
    constexpr std::size_t v4 = 23, v4_port = 14 + 24 + 2, v6 = 20, v6_port = 14 + 40 + 2;
    const auto ipv4 = wire::ether_type::ipv4, ipv6 = wire::ether_type::ipv6;
    auto fragment = ip(ipv4, v4, 17, v4_port, 4791);
    fragment[21] = std::byte{1};
    const std::vector<std::pair<test::ByteVector, bool>> cases{
        {frame(wire::ether_type::roce_v1, 60), true},
        {frame(wire::ether_type::soft_ib, 60), true},
        {frame(wire::ether_type::arp, 60), true},
        {frame(wire::EtherType{0x88cc}, 60), false},
        {ip(ipv4, v4, 17, v4_port, 4791), true},
        {ip(ipv4, v4, 17, v4_port, 4790), false},
        {ip(ipv4, v4, 6, v4_port, 4791), false},
        {ip(ipv4, v4, 1, v4_port, 0), true},
        {fragment, false},
        {ip(ipv6, v6, 17, v6_port, 4791), true},
        {ip(ipv6, v6, 17, v6_port, 53), false},
        {ip(ipv6, v6, 58, v6_port, 0), true},
        {ip(ipv6, v6, 6, v6_port, 4791), false},
    };
    for (const auto& [bytes, wanted] : cases) {
        ASSERT_TRUE(send(*a, bytes));
        ASSERT_EQ(test::bytes_of(receive(*all)), bytes);
        const auto packet = receive_now(*b);
        EXPECT_EQ(packet != nullptr, wanted) << &bytes - &cases.front().first;
    }
}

TEST_F(PacketTest, TagsTakenOffByTheKernelArePutBack) {
    const auto a = open({.interface = "v0"}), b = open({.interface = "v1"});
    auto bytes = frame(wire::ether_type::vlan, 64);
    wire::store16(bytes, 14, 3u << 13 | 77);
    wire::store16(bytes, 16, static_cast<unsigned>(wire::ether_type::roce_v1));
    ASSERT_TRUE(send(*a, bytes));
    EXPECT_EQ(test::bytes_of(receive(*b)), bytes);
}

TEST_F(PacketTest, GroupsAreTheInterfaces) {
    const auto b = open({.interface = "v1"});
    const MulticastAddress group{.mac = wire::from_string<wire::MacAddress>("33:33:00:00:12:34").value()};
    EXPECT_FALSE(b->attach_multicast(group));
    space->run("sh -c 'ip maddress show dev v1 | grep -q 33:33:00:00:12:34'");
    EXPECT_FALSE(b->detach_multicast(group));
    space->run("sh -c '! ip maddress show dev v1 | grep -q 33:33:00:00:12:34'");
    EXPECT_FALSE(b->set_identity({.mac = {{std::byte{2}, {}, {}, {}, {}, std::byte{7}}}}));
    EXPECT_FALSE(b->set_identity({.mac = *b->mac()}));
}

TEST_F(PacketTest, ReceivesAllGroupsOnRequest) {
    const auto b = open({.interface = "v1"});
    for (int i = 0; i < 2; ++i) EXPECT_FALSE(b->receive_all_multicast(true));
    space->run("sh -c 'ip -d link show dev v1 | grep -q \"allmulti 1\"'");
    EXPECT_FALSE(b->receive_all_multicast(false));
    space->run("sh -c 'ip -d link show dev v1 | grep -q \"allmulti 0\"'");
}

TEST_F(PacketTest, DownMeansDown) {
    const auto a = open({.interface = "v0"}), b = open({.interface = "v1"});
    b->down();
    EXPECT_FALSE(b->link_up());
    ASSERT_TRUE(send(*a, roce(60)));
    EXPECT_FALSE(receive_now(*b));
    ASSERT_TRUE(b->up());
    ASSERT_TRUE(send(*a, roce(61)));
    EXPECT_EQ(receive(*b)->pkt_len, 61u);

    space->run("ip link set v0 down");
    EXPECT_FALSE(a->link_up());
    // The kernel's watch over carriers has its own time.
    for (unsigned i = 0; i < 2000 && b->link_up(); ++i) poll(nullptr, 0, 1);
    EXPECT_FALSE(b->link_up()) << "the other end of its cable";
    EXPECT_TRUE(send(*a, roce(60)));
    EXPECT_EQ(counter(*a, "tx_dropped_link_down"), 1u);
    a->down();
    EXPECT_EQ(a->up().error().what, "interface v0 is down; bring it up with `ip link set v0 up`");
}

TEST_F(PacketTest, WhatTheKernelRefusesIsCounted) {
    const auto a = open({.interface = "v0"});
    EXPECT_TRUE(send(*a, roce(9019))) << "longer than the MTU";
    EXPECT_EQ(counter(*a, "tx_dropped_refused"), 1u);
    EXPECT_TRUE(send(*a, roce(1000), 100)) << "ten pieces";
    EXPECT_EQ(counter(*a, "tx_dropped_segments"), 1u);
}

TEST_F(PacketTest, AnEmptyPoolPutsTheReceiveOff) {
    const auto a = open({.interface = "v0"}), b = open({.interface = "v1"});
    ASSERT_TRUE(send(*a, roce(60)));
    ASSERT_TRUE(readable(*b, 10'000));
    {
        std::vector<test::Packet> all;
        while (auto* packet = rte_pktmbuf_alloc(packet_pool())) all.emplace_back(packet);
        EXPECT_FALSE(receive_now(*b));
    }
    EXPECT_EQ(counter(*b, "rx_mbuf_allocation_errors"), 1u);
    EXPECT_TRUE(receive_now(*b));
}

TEST_F(PacketTest, ErrorsAreOneLineEach) {
    EXPECT_EQ(try_open({.interface = "nosuch"}).error().what, "no interface nosuch; `ip link` lists those there are");
    EXPECT_EQ(try_open({.interface = "averylongnameforone"}).error().code, ENODEV);
    EXPECT_EQ(try_open({.interface = ""}).error().code, ENODEV);
    EXPECT_EQ(try_open({.interface = "lo"}).error().what, "interface lo is not Ethernet; choose one that is");
}

TEST(RingGeometry, ASlotHoldsAFrameAndBlocksAreWhole) {
    for (const std::size_t frame : {60u, 1518u, 2100u, 4218u, 9018u, 65553u}) {
        const auto geometry = packet::ring_geometry(frame, 4 << 20);
        EXPECT_GE(geometry.slot_size, frame + TPACKET2_HDRLEN);
        EXPECT_EQ(geometry.block_size % geometry.slot_size, 0u);
        EXPECT_EQ(geometry.slots % (geometry.block_size / geometry.slot_size), 0u);
        EXPECT_GE(geometry.slots, 64u);
    }
}

}  // namespace
}  // namespace verbline::pmd
