// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/ethdev/ethdev.h"

#include <array>
#include <chrono>
#include <map>
#include <string>
#include <thread>

#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <rte_ethdev.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "pmd/ethdev/port.h"
#include "pmd/tun/netns.h"
#include "tests/support/namespace.h"
#include "tests/support/packet.h"

namespace verbline::pmd {
namespace {

using namespace std::chrono_literals;
using test::make_packet;
using test::Packet;
using test::packet_pool;

std::unique_ptr<EthDevice> open(const std::string& devargs, const EthDeviceOptions& options = {}) {
    auto device = EthDevice::create(devargs, packet_pool(), options);
    if (!device) throw std::runtime_error(device.error().what);
    EXPECT_TRUE((*device)->up());
    return std::move(*device);
}

std::map<std::string, std::uint64_t, std::less<>> counters_of(const NetDevice& device) {
    std::map<std::string, std::uint64_t, std::less<>> values;
    device.counters(
        [&](std::string_view name, std::uint64_t value, std::string_view) { values[std::string(name)] = value; });
    return values;
}

std::uint16_t send(NetDevice& device, Packet packet) {
    auto* raw = packet.release();
    const auto sent = device.tx_burst(0, std::span(&raw, 1));
    if (sent == 0) rte_pktmbuf_free(raw);
    return sent;
}

TEST(EthDevice, EachQueueReceivesFromItsThreadsPool) {
    const std::unique_ptr<rte_mempool, decltype([](rte_mempool* pool) { rte_mempool_free(pool); })> other(
        rte_pktmbuf_pool_create("other", 255, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY));
    const auto device = EthDevice::create("net_null8", PacketPools({packet_pool(), other.get()}), {.rx_queues = 2});
    ASSERT_TRUE(device) << device.error().what;
    ASSERT_TRUE((*device)->up());
    for (std::uint16_t queue = 0; queue < 2; ++queue) {
        rte_mbuf* received = nullptr;
        ASSERT_EQ((*device)->rx_burst(queue, {&received, 1}), 1);
        EXPECT_EQ(Packet(received)->pool, queue == 0 ? packet_pool() : other.get());
    }
}

TEST(EthDevice, ReportsItsRssTable) {
    EXPECT_FALSE(open("net_null5")->rss()) << "one queue: nothing is spread";
    const auto device = open("net_null6", {.rx_queues = 4});
    const auto rss = device->rss();
    ASSERT_TRUE(rss);
    EXPECT_GE(rss->key.size(), 40u);
    ASSERT_FALSE(rss->queues.empty());
    EXPECT_EQ(rss->queues.size() & (rss->queues.size() - 1), 0u);
    for (const auto queue : rss->queues) EXPECT_LT(queue, 4);
}

TEST(EthDevice, HasTheOffloadsThatAreNamedAndNoOthers) {
    const auto of = [](std::string_view offloads) {
        return EthDeviceOptions{.offloads = parse_offloads(offloads).value()};
    };
    EXPECT_EQ(open("net_ring10", of("multi-segs"))->capabilities().tx_offloads, RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
    EXPECT_EQ(open("net_ring10", of("none"))->capabilities().tx_offloads, 0u);
    const auto refused = EthDevice::create("net_ring10", packet_pool(), of("tcp-tso"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EINVAL);
    EXPECT_EQ(refused.error().what, "device net_ring10 has no offload tcp-tso; it has rx: nothing; tx: multi-segs");
}

TEST(EthDevice, HashesTheRssTypesThatAreNamed) {
    EthDeviceOptions options{.rx_queues = 2, .tx_queues = 2};
    ASSERT_TRUE(choose_rss_types("ip", options.offloads));
    EXPECT_FALSE(open("net_null11", options)->rss()->udp_ports);
    ASSERT_TRUE(choose_rss_types("ip,udp", options.offloads));
    EXPECT_TRUE(open("net_null11", options)->rss()->udp_ports);
}

TEST(EthDevice, PlugsInAndUnplugsWhatItOpened) {
    std::uint16_t port;
    {
        const auto device = open("net_ring3");
        EXPECT_EQ(rte_eth_dev_get_port_by_name("net_ring3", &port), 0);
        EXPECT_EQ(device->name(), "net_ring3");
    }
    EXPECT_NE(rte_eth_dev_get_port_by_name("net_ring3", &port), 0);
    open("net_ring3");
}

TEST(EthDevice, TakesAPortThatIsThereAlready) {
    ASSERT_EQ(rte_eal_hotplug_add("vdev", "net_null4", ""), 0);
    { const auto device = open("net_null4"); }
    EXPECT_EQ(rte_eal_hotplug_remove("vdev", "net_null4"), 0) << "it was not ours to unplug";
}

TEST(EthDevice, FramesLoopThroughARing) {
    const auto device = open("net_ring0");
    EXPECT_TRUE(device->link_up());
    const auto bytes = test::pattern(300);
    ASSERT_EQ(send(*device, make_packet(bytes)), 1);
    rte_mbuf* packet = nullptr;
    ASSERT_EQ(device->rx_burst(0, std::span(&packet, 1)), 1);
    EXPECT_EQ(test::bytes_of(Packet(packet)), bytes);
    const auto counters = counters_of(*device);
    EXPECT_EQ(counters.at("tx_good_packets"), 1u);
    EXPECT_EQ(counters.at("rx_good_packets"), 1u);
    EXPECT_EQ(counters.at("tx_dropped_link_down"), 0u);
}

TEST(EthDevice, DownStopsBurstsAndCountsWhatIsSent) {
    const auto device = open("net_ring0");
    ASSERT_EQ(send(*device, make_packet(test::pattern(60))), 1);
    device->down();
    rte_mbuf* packet = nullptr;
    EXPECT_EQ(device->rx_burst(0, std::span(&packet, 1)), 0);
    EXPECT_EQ(send(*device, make_packet(test::pattern(60))), 1);
    EXPECT_EQ(counters_of(*device).at("tx_dropped_link_down"), 1u);
    EXPECT_FALSE(device->link_up());
    ASSERT_TRUE(device->up());
    ASSERT_EQ(device->rx_burst(0, std::span(&packet, 1)), 1);
    rte_pktmbuf_free(packet);
}

TEST(EthDevice, AFullRingLeavesTheRestToTheCaller) {
    const auto device = open("net_ring0");  // 1024 places
    for (unsigned i = 0; i < 1023; ++i) ASSERT_EQ(send(*device, make_packet(test::pattern(60))), 1) << i;
    EXPECT_EQ(send(*device, make_packet(test::pattern(60))), 0);
    std::array<rte_mbuf*, 64> burst;
    while (const auto n = device->rx_burst(0, burst)) rte_pktmbuf_free_bulk(burst.data(), n);
}

/// Of net_tap the kernel selects the queue: the one by which the flow was last sent.
TEST(EthDevice, OneQueueWhereFlowsDoNotKeepToTheirs) {
    SKIP_UNLESS_ROOT();
    const test::Namespace space;
    space.enter([&] {
        const auto device = open("net_tap3", {.rx_queues = 2, .tx_queues = 2});
        EXPECT_EQ(device->capabilities().rx_queues, 1);
        EXPECT_EQ(device->capabilities().tx_queues, 1);
    });
}

TEST(EthDevice, NoMoreQueuesThanTheDeviceHas) {
    const auto device = open("net_null0", {.rx_queues = 5000, .tx_queues = 2});
    EXPECT_GT(device->capabilities().rx_queues, 0);
    EXPECT_LT(device->capabilities().rx_queues, 5000);
    EXPECT_EQ(device->capabilities().tx_queues, 2);
    EXPECT_EQ(device->capabilities().max_packet, 1514u);
}

TEST(EthDevice, AVirtualDeviceIsOnNoSocket) {
    EXPECT_EQ(open("net_null9")->numa_socket(), any_numa_socket) << "DPDK names that of the thread which made it";
}

TEST(EthDevice, ReceivesAllGroupsOnRequest) {
    SKIP_UNLESS_ROOT();
    const auto device = open("net_tap4");
    EXPECT_FALSE(device->set_identity({.mac = {{std::byte{2}, std::byte{7}}}}));
    EXPECT_FALSE(device->attach_multicast({.mac = {{std::byte{3}}}})) << "this driver says that it filters groups";
    EXPECT_EQ(rte_eth_allmulticast_get(0), 0);
    EXPECT_FALSE(device->receive_all_multicast(true));
    EXPECT_EQ(rte_eth_allmulticast_get(0), 1);
    EXPECT_FALSE(device->attach_multicast({.mac = {{std::byte{5}}}}));
    EXPECT_EQ(rte_eth_allmulticast_get(0), 1) << "one more group changes nothing";
    EXPECT_FALSE(device->receive_all_multicast(false));
    EXPECT_EQ(rte_eth_allmulticast_get(0), 0);
}

TEST(EthDevice, AnUnknownDeviceIsOneLine) {
    const auto unknown = EthDevice::create("net_nonsense0,x=1", packet_pool(), {});
    ASSERT_FALSE(unknown);
    EXPECT_TRUE(unknown.error().what.starts_with("cannot open device net_nonsense0,x=1: ")) << unknown.error().what;
}

/// One end of a veth pair by AF_PACKET, with the test's own packet socket at the other.
struct Veth : ::testing::Test {
    void SetUp() override {
        SKIP_UNLESS_ROOT();
        space.emplace();
        space->run("ip link add near type veth peer name far");
        space->run("ip link set near up");
        space->run("ip link set far up");
        auto visit = NetnsGuard::enter(space->path());
        ASSERT_TRUE(visit) << visit.error().what;
        guard.emplace(std::move(*visit));
        device = open("net_af_packet0,iface=near");
        socket_ = packet_socket(0x88b5, {5, 0});
    }
    /// For packets of that EtherType at the far end.
    static FileDescriptor packet_socket(std::uint16_t type, timeval limit) {
        FileDescriptor opened(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(type)));
        const sockaddr_ll name{.sll_family = AF_PACKET,
                               .sll_protocol = htons(type),
                               .sll_ifindex = static_cast<int>(if_nametoindex("far"))};
        EXPECT_EQ(bind(opened.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
        setsockopt(opened.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        return opened;
    }
    static test::ByteVector frame(const wire::MacAddress& to) {
        auto bytes = test::pattern(100);
        std::memcpy(bytes.data(), to.bytes.data(), 6);
        bytes[6] = std::byte{2};
        bytes[12] = std::byte{0x88};
        bytes[13] = std::byte{0xb5};
        return bytes;
    }
    Packet receive(std::chrono::milliseconds limit) {
        const auto end = std::chrono::steady_clock::now() + limit;
        while (std::chrono::steady_clock::now() < end) {
            rte_mbuf* packet = nullptr;
            if (device->rx_burst(0, std::span(&packet, 1)) == 0) continue;
            if (test::bytes_of(packet)[12] == std::byte{0x88}) return Packet(packet);
            rte_pktmbuf_free(packet);  // the kernel's own IPv6 neighbour discovery
        }
        return nullptr;
    }
    std::optional<test::Namespace> space;
    std::optional<NetnsGuard> guard;
    std::unique_ptr<EthDevice> device;
    FileDescriptor socket_;
};

TEST_F(Veth, FramesCrossBothWays) {
    EXPECT_TRUE(device->link_up());
    ASSERT_TRUE(device->mac());
    const auto out = frame(wire::broadcast_mac);
    ASSERT_EQ(send(*device, make_packet(out)), 1);
    test::ByteVector got(200);
    got.resize(static_cast<std::size_t>(std::max<ssize_t>(recv(socket_.get(), got.data(), got.size(), 0), 0)));
    EXPECT_EQ(got, out);
    const auto in = frame(*device->mac());
    ASSERT_EQ(::send(socket_.get(), in.data(), in.size(), 0), static_cast<ssize_t>(in.size()));
    const auto packet = receive(5s);
    ASSERT_TRUE(packet);
    EXPECT_EQ(test::bytes_of(packet), in);
}

TEST_F(Veth, AnMtuAboveTheDevicesIsOneLine) {
    device.reset();
    const auto refused = EthDevice::create("net_af_packet0,iface=near", packet_pool(), {.mtu = 9000});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().what, "device net_af_packet0: MTU 9000 is above its limit of 1500");
}

/// Its driver sends them in bursts alone, and an idle port has none but empty ones.
TEST_F(Veth, ABondSendsItsLacpPacketsInEmptyBursts) {
    RecordProperty("left_behind", "slave_port0_pool;RG_slave_0");  // DPDK's driver frees none of its pools and rings
    device.reset();
    constexpr std::uint16_t slow_protocols = 0x8809;  // IEEE 802.3, annex 57A
    const auto far = packet_socket(slow_protocols, {0, 50'000});
    const auto member = EthdevPort::plug("net_af_packet0,iface=near");
    ASSERT_TRUE(member) << member.error().what;
    device = open("net_bonding0,mode=4,slave=net_af_packet0");
    std::array<std::byte, 200> got{};
    ssize_t size = -1;
    for (int i = 0; i < 200 && size < 0; ++i) {
        device->tx_burst(0, {});
        size = recv(far.get(), got.data(), got.size(), 0);
    }
    EXPECT_GT(size, 0) << "no packet of LACP";
    device.reset();
}

TEST_F(Veth, StartsPromiscuousAndTakesAnIdentity) {
    const wire::MacAddress stranger{{std::byte{2}, std::byte{9}}}, mine{{std::byte{2}, std::byte{7}}};
    const auto foreign = frame(stranger);
    ASSERT_EQ(::send(socket_.get(), foreign.data(), foreign.size(), 0), static_cast<ssize_t>(foreign.size()));
    EXPECT_TRUE(receive(5s)) << "everything arrives until there is an identity";
    EXPECT_FALSE(device->set_identity({.mac = mine}));
    EXPECT_EQ(device->mac(), mine);
    // This driver cannot filter groups, so it says so, and everything still arrives.
    EXPECT_EQ(device->attach_multicast({.mac = {{std::byte{3}}}}), std::errc::operation_not_supported);
    EXPECT_EQ(rte_eth_promiscuous_get(0), 1);
}

}  // namespace
}  // namespace verbline::pmd
