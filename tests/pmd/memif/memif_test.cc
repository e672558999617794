// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/memif/memif.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <gtest/gtest.h>

#include "pmd/memif/channel.h"
#include "tests/pmd/memif/peer.h"
#include "tests/support/packet.h"

namespace verbline::pmd {
namespace {

using namespace std::chrono_literals;
using test::make_packet;
using test::Packet;
using test::packet_pool;

std::uint64_t counter(const NetDevice& device, std::string_view wanted) {
    std::uint64_t found = ~std::uint64_t{0};
    device.counters([&](std::string_view name, std::uint64_t value, std::string_view) {
        if (name == wanted) found = value;
    });
    return found;
}

std::unique_ptr<Memif> open(MemifOptions options) {
    auto device = Memif::create(options, packet_pool());
    if (!device) throw std::runtime_error(device.error().what);
    EXPECT_TRUE((*device)->up());
    return std::move(*device);
}

/// Calls `done` until it holds; false after half a minute.
template <class Done>
bool wait_for(Done done) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (!done()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::yield();
    }
    return true;
}

Packet receive(NetDevice& device, std::uint16_t queue = 0) {
    rte_mbuf* packet = nullptr;
    wait_for([&] { return device.rx_burst(queue, std::span(&packet, 1)) == 1; });
    return Packet(packet);
}

bool send(NetDevice& device, std::span<const std::byte> bytes, std::uint16_t queue = 0) {
    auto* packet = make_packet(bytes).release();
    if (device.tx_burst(queue, std::span(&packet, 1)) == 1) return true;
    rte_pktmbuf_free(packet);
    return false;
}

struct MemifTest : ::testing::Test {
    MemifTest() : directory(std::filesystem::temp_directory_path() / ("verbline-memif-" + std::to_string(getpid()))) {
        std::filesystem::create_directory(directory);
    }
    ~MemifTest() override { std::filesystem::remove_all(directory); }

    std::filesystem::path directory;
    MemifOptions client{.path = directory / "a.sock"}, server{.path = client.path, .server = true};
};

TEST_F(MemifTest, BothWaysOnEveryQueue) {
    client.queues = server.queues = 3;
    const auto a = open(server), b = open(client);
    EXPECT_FALSE(a->link_up());
    ASSERT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
    for (std::uint16_t queue = 0; queue < 3; ++queue) {
        const auto there = test::pattern(60 + queue, queue), back = test::pattern(9000, queue);
        ASSERT_TRUE(send(*b, there, queue));
        EXPECT_EQ(test::bytes_of(receive(*a, queue)), there);
        ASSERT_TRUE(send(*a, back, queue));
        EXPECT_EQ(test::bytes_of(receive(*b, queue)), back);
    }
    EXPECT_EQ(counter(*a, "tx_good_packets"), 3u);
    EXPECT_EQ(counter(*a, "rx_good_bytes"), 60u + 61 + 62);
}

TEST_F(MemifTest, WithoutAPeerFramesAreDroppedByName) {
    const auto lonely = open(client);
    EXPECT_FALSE(lonely->link_up());
    EXPECT_TRUE(send(*lonely, test::pattern(60)));
    EXPECT_EQ(counter(*lonely, "tx_dropped_link_down"), 1u);
}

TEST_F(MemifTest, TheLinkComesBackWhicheverSideRestarts) {
    auto a = open(server), b = open(client);
    for (unsigned round = 0; round < 20; ++round) {
        ASSERT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; })) << round;
        ASSERT_TRUE(send(*b, test::pattern(100, round)));
        EXPECT_EQ(test::bytes_of(receive(*a)), test::pattern(100, round));
        if (round % 2 == 0) {
            a.reset();
            a = open(server);
        } else {
            b.reset();
            b = open(client);
        }
    }
}

TEST_F(MemifTest, DownHangsUpAndUpConnectsAgain) {
    const auto a = open(server), b = open(client);
    ASSERT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
    a->down();
    EXPECT_FALSE(a->link_up());
    EXPECT_FALSE(b->link_up());
    ASSERT_TRUE(a->up());
    EXPECT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
}

TEST_F(MemifTest, WhatAPeerSaidBeforeItHungUpIsHeard) {
    for (const bool server_leaves : {false, true}) {
        auto a = open(server), b = open(client);
        ASSERT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
        auto &leaves = server_leaves ? a : b, &stays = server_leaves ? b : a;
        for (unsigned i = 0; i < 3; ++i) ASSERT_TRUE(send(*leaves, test::pattern(100, i)));
        leaves.reset();
        EXPECT_FALSE(stays->link_up()) << "nobody is there";
        for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(test::bytes_of(receive(*stays)), test::pattern(100, i));
        EXPECT_EQ(counter(*stays, "link_losses"), 0u) << "as long as there was something to hear";
        EXPECT_FALSE(stays->link_up());
        EXPECT_EQ(counter(*stays, "link_losses"), 1u);
        leaves = open(server_leaves ? server : client);
        EXPECT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
    }
}

TEST_F(MemifTest, WhoDoesNotListenKeepsTheNextPeerWaitingForAMomentOnly) {
    const auto a = open(server);
    auto b = open(client);
    ASSERT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
    ASSERT_TRUE(send(*b, test::pattern(100)));
    b = open(client);
    EXPECT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
    EXPECT_EQ(counter(*a, "link_losses"), 1u);
}

TEST_F(MemifTest, ASocketFileLeftBehindDoesNotStopASecondStart) {
    {
        const FileDescriptor dead(socket(AF_UNIX, SOCK_SEQPACKET, 0));
        sockaddr_un address{.sun_family = AF_UNIX};
        client.path.copy(address.sun_path, client.path.size());
        ASSERT_EQ(bind(dead.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    }
    ASSERT_TRUE(std::filesystem::exists(client.path));
    const auto a = open(server), b = open(client);
    EXPECT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
}

TEST_F(MemifTest, OneServerAndOneClientPerSocket) {
    const auto a = open(server), b = open(client), c = open(client);
    EXPECT_EQ(Memif::create(server, packet_pool()).error().what,
              "memif socket " + server.path + " is served by another process; stop that first");
    ASSERT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
    for (unsigned i = 0; i < 10; ++i) {
        EXPECT_FALSE(c->link_up());
        EXPECT_TRUE(a->link_up());
        EXPECT_TRUE(b->link_up());
    }
}

TEST_F(MemifTest, DifferentQueuesOrIdsDoNotConnect) {
    const auto a = open(server);
    auto two = client, other = client;
    two.queues = 2;
    other.id = 9;
    for (const auto& options : {two, other}) {
        const auto b = open(options);
        for (unsigned i = 0; i < 10; ++i) EXPECT_FALSE(a->link_up() || b->link_up());
    }
    const auto right = open(client);
    EXPECT_TRUE(wait_for([&] { return int{a->link_up()} + int{right->link_up()} == 2; })) << "and do no harm";
}

TEST_F(MemifTest, WrongOptionsAreOneLineEach) {
    server.path = directory / "missing" / "a.sock";
    EXPECT_EQ(
        Memif::create(server, packet_pool()).error().what,
        "memif socket " + server.path + ": cannot be created; does its directory exist?: No such file or directory");
    server.path.assign(200, 'x');
    EXPECT_EQ(Memif::create(server, packet_pool()).error().code, EINVAL);
    client.queues = 0;
    EXPECT_FALSE(Memif::create(client, packet_pool()));
}

// A client that lies.

struct Liar : MemifTest {
    memif::Channel connect() {
        auto channel = memif::connect_to(server.path);
        EXPECT_TRUE(channel);
        EXPECT_FALSE(device->link_up());
        memif::Message hello;
        FileDescriptor none;
        EXPECT_EQ(channel->receive(hello, none), memif::Channel::Received::message);
        EXPECT_EQ(hello.type, memif::MessageType::hello);
        return std::move(*channel);
    }
    /// Sends it and says whether the server hung up.
    bool refused(memif::Channel& channel, const memif::Message& message, int fd = -1) {
        EXPECT_TRUE(channel.send(message, fd));
        EXPECT_FALSE(device->link_up());
        memif::Message answer;
        FileDescriptor none;
        if (channel.receive(answer, none) != memif::Channel::Received::message) return true;
        return answer.type == memif::MessageType::disconnect;
    }
    static memif::Message init() {
        memif::Message message{.type = memif::MessageType::init};
        message.init.version = memif::version;
        return message;
    }
    static memif::Message region(std::uint64_t size, std::uint16_t index = 0) {
        memif::Message message{.type = memif::MessageType::add_region};
        message.add_region = {index, size};
        return message;
    }
    static memif::Message ring(std::uint32_t offset, std::uint8_t log2_size, std::uint16_t index = 0,
                               std::uint16_t in_region = 0) {
        memif::Message message{.type = memif::MessageType::add_ring};
        message.add_ring = {1, index, in_region, offset, log2_size, 0};
        return message;
    }
    std::unique_ptr<Memif> device = open(server);
};

TEST_F(Liar, IsRefusedWhateverItSays) {
    const auto memory = memif::SharedMemory::create(8192);
    const FileDescriptor unsealed(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(unsealed.get(), 8192), 0);
    struct Case {
        const char* what;
        std::vector<std::pair<memif::Message, int>> accepted;
        memif::Message refused;
        int fd = -1;
    };
    auto other_version = init(), other_mode = init();
    other_version.init.version = 0x0300;
    other_mode.init.mode = 1;
    const int good = memory->fd();
    for (auto& [what, accepted, last, fd] : std::initializer_list<Case>{
             {"another version", {}, other_version},
             {"another mode", {}, other_mode},
             {"a region before init", {}, region(8192), good},
             {"a region without memory", {{init(), -1}}, region(8192)},
             {"a region larger than its memory", {{init(), -1}}, region(8193), good},
             {"an enormous region", {{init(), -1}}, region(~std::uint64_t{0}), good},
             {"an empty region", {{init(), -1}}, region(0), good},
             {"memory that may shrink", {{init(), -1}}, region(8192), unsealed.get()},
             {"memory that is none", {{init(), -1}}, region(8192), STDIN_FILENO},
             {"a region out of turn", {{init(), -1}}, region(8192, 1), good},
             {"a ring in no region", {{init(), -1}}, ring(0, 4)},
             {"a ring past the end", {{init(), -1}, {region(8192), good}}, ring(8192 - 64, 4)},
             {"a ring too large", {{init(), -1}, {region(8192), good}}, ring(0, 12)},
             {"a ring beyond reason", {{init(), -1}, {region(8192), good}}, ring(0, 255)},
             {"a crooked ring", {{init(), -1}, {region(8192), good}}, ring(1, 4)},
             {"a second ring for one queue", {{init(), -1}, {region(8192), good}, {ring(0, 4), -1}}, ring(1024, 4, 1)},
             {"no ring at all", {{init(), -1}, {region(8192), good}}, {.type = memif::MessageType::connect}},
             {"an unknown message", {{init(), -1}}, {.type = memif::MessageType{77}}},
             {"a server's message", {{init(), -1}}, {.type = memif::MessageType::connected}}}) {
        auto channel = connect();
        for (const auto& [message, descriptor] : accepted) EXPECT_FALSE(refused(channel, message, descriptor)) << what;
        EXPECT_TRUE(refused(channel, last, fd)) << what;
    }
    const auto honest = open(client);
    EXPECT_TRUE(wait_for([&] { return int{device->link_up()} + int{honest->link_up()} == 2; }));
}

TEST_F(Liar, WithoutTheRightCookieIsRefused) {
    const auto memory = memif::SharedMemory::create(8192);
    auto channel = connect();
    EXPECT_FALSE(refused(channel, init()));
    EXPECT_FALSE(refused(channel, region(8192), memory->fd()));
    EXPECT_FALSE(refused(channel, ring(0, 4)));
    auto back = ring(4096, 4);
    back.add_ring.flags = 0;
    EXPECT_FALSE(refused(channel, back));
    EXPECT_TRUE(refused(channel, {.type = memif::MessageType::connect}));
}

// DPDK's own memif on the other side.

struct Dpdk {
    Dpdk(const char* role, const std::string& path) {
        const auto arguments =
            std::string("role=") + role + ",socket=" + path + ",socket-abstract=no,bsize=2048,rsize=8";
        EXPECT_EQ(rte_eal_hotplug_add("vdev", "net_memif7", arguments.c_str()), 0);
        EXPECT_EQ(rte_eth_dev_get_port_by_name("net_memif7", &port), 0);
        const rte_eth_conf configuration{};
        EXPECT_EQ(rte_eth_dev_configure(port, 1, 1, &configuration), 0);
        EXPECT_EQ(rte_eth_rx_queue_setup(port, 0, 256, 0, nullptr, packet_pool()), 0);
        EXPECT_EQ(rte_eth_tx_queue_setup(port, 0, 256, 0, nullptr), 0);
    }
    ~Dpdk() {
        rte_eth_dev_stop(port);
        rte_eth_dev_close(port);
        rte_eal_hotplug_remove("vdev", "net_memif7");
    }
    bool link_up() const {
        rte_eth_link link{};
        return rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
    }
    std::uint16_t port = 0;
};

void exchange(NetDevice& ours, const Dpdk& theirs) {
    ASSERT_TRUE(wait_for([&] { return int{ours.link_up()} + int{theirs.link_up()} == 2; }));
    rte_mbuf* none = nullptr;
    ASSERT_EQ(rte_eth_rx_burst(theirs.port, 0, &none, 1), 0) << "offers its slots as a client";
    for (unsigned round = 0; round < 2000; ++round) {
        const auto there = test::pattern(60 + round % 2000, round), back = test::pattern(60 + round * 7 % 5000, round);
        ASSERT_TRUE(send(ours, there));
        rte_mbuf* packet = nullptr;
        ASSERT_TRUE(wait_for([&] { return rte_eth_rx_burst(theirs.port, 0, &packet, 1) == 1; }));
        ASSERT_EQ(test::bytes_of(Packet(packet)), there) << round;
        packet = make_packet(back).release();
        ASSERT_TRUE(wait_for([&] { return rte_eth_tx_burst(theirs.port, 0, &packet, 1) == 1; }));
        ASSERT_EQ(test::bytes_of(receive(ours)), back) << round;
    }
}

TEST_F(MemifTest, ServesDpdksClient) {
    const auto ours = open(server);
    const Dpdk theirs("client", server.path);
    ASSERT_EQ(rte_eth_dev_start(theirs.port), 0);
    exchange(*ours, theirs);
}

TEST_F(MemifTest, IsAClientOfDpdksServer) {
    const Dpdk theirs("server", client.path);
    ASSERT_EQ(rte_eth_dev_start(theirs.port), 0);
    const auto ours = open(client);
    exchange(*ours, theirs);
}

// Two processes, one of which dies without a word.

/// Polls as a shard and its control thread do, until killed with its parent.
void echo_forever(bool as_server) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const char* path = std::getenv("VERBLINE_TEST_SOCKET");
    ASSERT_NE(path, nullptr) << "a role for a second process, not a test";
    const auto device = open({.path = path, .server = as_server});
    const std::jthread control([&] {
        for (;;) device->link_up(), std::this_thread::sleep_for(1ms);
    });
    for (std::array<rte_mbuf*, 32> burst;;) {
        const auto n = device->rx_burst(0, burst);
        const auto sent = device->tx_burst(0, std::span(burst).first(n));
        rte_pktmbuf_free_bulk(burst.data() + sent, n - sent);
        if (n == 0) std::this_thread::yield();
    }
}
TEST(Role, DISABLED_Client) {
    echo_forever(false);
}
TEST(Role, DISABLED_Server) {
    echo_forever(true);
}

/// Sends and receives at full speed while the peer is killed again and again.
void survives(const MemifOptions& options, const char* role) {
    const auto device = open(options);
    std::atomic<std::uint64_t> echoed{0};
    const std::jthread shard([&](const std::stop_token& stop) {
        std::array<rte_mbuf*, 32> burst;
        while (!stop.stop_requested()) {
            if (rte_pktmbuf_alloc_bulk(packet_pool(), burst.data(), burst.size()) == 0) {
                for (auto* packet : burst) rte_pktmbuf_append(packet, 2000);
                const auto sent = device->tx_burst(0, burst);
                rte_pktmbuf_free_bulk(burst.data() + sent, static_cast<unsigned>(burst.size() - sent));
            }
            const auto n = device->rx_burst(0, burst);
            rte_pktmbuf_free_bulk(burst.data(), n);
            echoed += n;
        }
    });
    for (unsigned round = 0; round < 4; ++round) {
        test::Peer peer(role, options.path);
        const auto before = echoed.load();
        ASSERT_TRUE(wait_for([&] { return device->link_up() && echoed > before + 1000; })) << round;
        peer.kill_now();
        ASSERT_TRUE(wait_for([&] { return !device->link_up(); })) << round;
    }
    EXPECT_EQ(counter(*device, "link_losses"), 4u);
}

TEST_F(MemifTest, SurvivesItsClientsDeathUnderLoad) {
    survives(server, "Role.DISABLED_Client");
}
TEST_F(MemifTest, SurvivesItsServersDeathUnderLoad) {
    survives(client, "Role.DISABLED_Server");
}

}  // namespace
}  // namespace verbline::pmd
