// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/tun/tun.h"

#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>

#include <netinet/in.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include "tests/support/namespace.h"
#include "tests/support/packet.h"

namespace verbline::pmd {
namespace {

using test::Namespace;
using test::packet_pool;

using namespace std::chrono_literals;

std::map<std::string, std::uint64_t, std::less<>> counters_of(const NetDevice& device) {
    std::map<std::string, std::uint64_t, std::less<>> values;
    device.counters(
        [&](std::string_view name, std::uint64_t value, std::string_view) { values[std::string(name)] = value; });
    return values;
}

/// Two kernels joined by two interfaces and a thread that carries packets between them.
struct Wire {
    explicit Wire(TunKind kind, std::uint16_t queues = 1) {
        const std::array<Namespace*, 2> spaces{&left, &right};
        for (unsigned side = 0; side < 2; ++side) {
            auto tun =
                Tun::create({.name = "vl0", .netns = spaces[side]->path(), .kind = kind, .queues = queues, .mtu = 1400},
                            packet_pool());
            if (!tun) throw std::runtime_error(tun.error().what);
            ends[side] = std::move(*tun);
            EXPECT_TRUE(ends[side]->up());
            const auto last = std::to_string(side + 1);
            spaces[side]->run("ip address add 10.9.0." + last + "/24 dev vl0");
            spaces[side]->run("ip address add fd09::" + last + "/64 dev vl0 nodad");
        }
        carrier = std::jthread([this, queues](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                unsigned moved = 0;
                for (std::uint16_t queue = 0; queue < queues; ++queue) {
                    moved += carry(*ends[0], *ends[1], queue) + carry(*ends[1], *ends[0], queue);
                }
                if (moved == 0) std::this_thread::yield();
            }
        });
    }

    unsigned carry(NetDevice& from, NetDevice& to, std::uint16_t queue) {
        std::array<rte_mbuf*, 32> packets;
        const auto n = from.rx_burst(queue, packets);
        for (auto* packet : std::span(packets).first(n)) largest = std::max(largest.load(), packet->pkt_len);
        for (std::uint16_t sent = 0; sent < n;) sent += to.tx_burst(queue, std::span(packets).subspan(sent, n - sent));
        return n;
    }

    Namespace left, right;
    std::array<std::unique_ptr<Tun>, 2> ends;
    std::atomic<std::uint32_t> largest{0};
    std::jthread carrier;
};

int listen_at(const char* address) {
    const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval limit{20, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    sockaddr_in6 name{.sin6_family = AF_INET6, .sin6_port = htons(7000)};
    inet_pton(AF_INET6, address, &name.sin6_addr);
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0) << std::strerror(errno);
    EXPECT_EQ(listen(fd, 1), 0);
    return fd;
}

/// Sends `size` patterned bytes from left to right over TCP and says whether they arrived.
void transfer(Wire& wire, const char* server, const char* bind_to, std::size_t size) {
    FileDescriptor listener;
    wire.right.enter([&] { listener = FileDescriptor(listen_at(bind_to)); });
    const auto bytes = test::pattern(size, 5);
    std::thread client([&] {
        wire.left.enter([&] {
            const FileDescriptor fd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
            const timeval limit{20, 0};
            setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
            sockaddr_in6 name{.sin6_family = AF_INET6, .sin6_port = htons(7000)};
            inet_pton(AF_INET6, server, &name.sin6_addr);
            ASSERT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0) << std::strerror(errno);
            for (std::size_t sent = 0; sent < bytes.size();) {
                const auto n = send(fd.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
                ASSERT_GT(n, 0) << std::strerror(errno);
                sent += static_cast<std::size_t>(n);
            }
        });
    });
    const FileDescriptor fd(accept(listener.get(), nullptr, nullptr));
    test::ByteVector got(size);
    EXPECT_EQ(recv(fd.get(), got.data(), size, MSG_WAITALL), static_cast<ssize_t>(size)) << std::strerror(errno);
    client.join();
    EXPECT_TRUE(got == bytes);
}

TEST(Tun, TcpCrossesInLargePackets) {
    SKIP_UNLESS_ROOT();
    Wire wire(TunKind::tun);
    transfer(wire, "::ffff:10.9.0.2", "::", 8 << 20);
    EXPECT_GT(wire.largest, 16'000u) << "segmentation requests cross";
    for (const auto& end : wire.ends) EXPECT_EQ(counters_of(*end).at("rx_dropped_vnet_header"), 0u);
}

TEST(Tun, TcpOverIpv6OnATap) {
    SKIP_UNLESS_ROOT();
    Wire wire(TunKind::tap);
    transfer(wire, "fd09::2", "fd09::2", 8 << 20);
    EXPECT_GT(wire.largest, 16'000u);
}

/// What kernels leave undone is about the outermost packet (virtio 1.2 has no more): of a tunnel that they make
/// themselves, they cut and sum what is inside.
TEST(Tun, TcpInATunnelCrossesInPacketsOfTheMtu) {
    SKIP_UNLESS_ROOT();
    for (const auto* checksum : {"noudpcsum", "udpcsum"}) {
        Wire wire(TunKind::tun);
        const std::array<Namespace*, 2> spaces{&wire.left, &wire.right};
        const std::array<std::string, 2> ends{"1", "2"};
        for (const unsigned side : {0, 1}) {
            const auto link = "ip link add vx0 type vxlan id 5 dstport 4789 dev vl0 local 10.9.0." + ends[side] +
                              " remote 10.9.0." + ends[1 - side] + ' ' + checksum;
            if (side == 0 && std::system(("nsenter --net=" + spaces[0]->path() + ' ' + link).c_str()) != 0) {
                GTEST_SKIP() << "this kernel has no VXLAN";
            }
            if (side == 1) spaces[1]->run(link);
            spaces[side]->run("ip address add 10.8.0." + ends[side] + "/24 dev vx0");
            spaces[side]->run("ip link set vx0 up");
        }
        transfer(wire, "::ffff:10.8.0.2", "::", 2 << 20);
        EXPECT_LE(wire.largest, 1400u);
        for (const auto& end : wire.ends) EXPECT_EQ(counters_of(*end).at("rx_dropped_vnet_header"), 0u);
    }
}

TEST(Tun, ManyQueues) {
    SKIP_UNLESS_ROOT();
    Wire wire(TunKind::tap, 4);
    EXPECT_EQ(wire.ends[0]->capabilities().rx_queues, 4);
    transfer(wire, "::ffff:10.9.0.2", "::", 1 << 20);
    transfer(wire, "fd09::2", "fd09::2", 1 << 20);
}

/// A UDP socket in `space` at 10.9.0.1:7001, which waits at most five seconds.
FileDescriptor udp_socket(const Namespace& space, const char* address) {
    FileDescriptor fd;
    space.enter([&] {
        fd = FileDescriptor(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        const timeval limit{5, 0};
        setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
        sockaddr_in name{.sin_family = AF_INET, .sin_port = htons(7001)};
        inet_pton(AF_INET, address, &name.sin_addr);
        EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0) << std::strerror(errno);
    });
    return fd;
}

struct OneEnd : ::testing::Test {
    void SetUp() override {
        SKIP_UNLESS_ROOT();
        space.emplace();
        auto made = Tun::create({.name = "vl0", .netns = space->path()}, packet_pool());
        ASSERT_TRUE(made) << made.error().what;
        tun = std::move(*made);
        ASSERT_TRUE(tun->up());
        space->run("ip address add 10.9.0.1/24 dev vl0");
    }
    rte_mbuf* receive_ipv4() {
        for (const auto end = std::chrono::steady_clock::now() + 5s; std::chrono::steady_clock::now() < end;) {
            std::array<rte_mbuf*, 1> burst;
            if (tun->rx_burst(0, burst) == 0) continue;
            if (*rte_pktmbuf_mtod(burst[0], const std::uint8_t*) >> 4 == 4) return burst[0];
            rte_pktmbuf_free(burst[0]);  // the kernel's own IPv6 neighbour discovery
        }
        return nullptr;
    }
    std::optional<Namespace> space;
    std::unique_ptr<Tun> tun;
};

/// From 10.9.0.2 to 10.9.0.1, port 7001, without a checksum of its own.
test::ByteVector datagram(std::uint8_t checksum_high) {
    auto bytes = test::bytes_from(0x45, 0, 0, 32, 0, 1, 0, 0, 64, 17, 0x66, 0xb8, 10, 9, 0, 2, 10, 9, 0, 1,  //
                                  0x1b, 0x59, 0x1b, 0x59, 0, 12, checksum_high, 1, 'p', 'i', 'n', 'g');
    return bytes;
}

TEST_F(OneEnd, AWrongChecksumIsBelievedOnlyWhenDeclaredGood) {
    const auto fd = udp_socket(*space, "10.9.0.1");
    std::array<rte_mbuf*, 2> burst{test::make_packet(datagram(7)).release(), test::make_packet(datagram(9)).release()};
    burst[1]->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM;
    burst[1]->l3_len = 20;
    burst[1]->l4_len = 8;
    *rte_pktmbuf_mtod_offset(burst[0], char*, 28) = 'X';
    ASSERT_EQ(tun->tx_burst(0, burst), 2);
    std::array<char, 16> text{};
    ASSERT_EQ(recv(fd.get(), text.data(), text.size(), 0), 4) << std::strerror(errno);
    EXPECT_EQ(std::string(text.data()), "ping") << "the first datagram's checksum is wrong";
    EXPECT_EQ(counters_of(*tun).at("tx_good_packets"), 2u);
}

/// Two datagrams in one packet, for a kernel that takes it: a socket receives them one by one.
TEST_F(OneEnd, MergedDatagramsArePartedByTheKernel) {
    if ((tun->capabilities().tx_offloads & RTE_ETH_TX_OFFLOAD_UDP_TSO) == 0)
        GTEST_SKIP() << "this kernel is older than Linux 6.2";
    const auto fd = udp_socket(*space, "10.9.0.1");
    auto bytes = datagram(0);
    bytes[3] = std::byte{35}, bytes[25] = std::byte{15};  // three bytes more
    for (const char c : {'o', 'n', 'g'}) bytes.push_back(static_cast<std::byte>(c));
    rte_mbuf* packet = test::make_packet(bytes).release();
    packet->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_UDP_SEG;
    packet->l3_len = 20;
    packet->l4_len = 8;
    packet->tso_segsz = 4;
    ASSERT_EQ(tun->tx_burst(0, {&packet, 1}), 1);
    for (const std::string expected : {"ping", "ong"}) {
        std::array<char, 16> text{};
        ASSERT_EQ(recv(fd.get(), text.data(), text.size(), 0), static_cast<ssize_t>(expected.size()))
            << std::strerror(errno);
        EXPECT_EQ(std::string(text.data()), expected);
    }
}

TEST_F(OneEnd, ADatagramFromTheKernelAsksForItsChecksum) {
    const auto fd = udp_socket(*space, "10.9.0.1");
    sockaddr_in to{.sin_family = AF_INET, .sin_port = htons(7002)};
    inet_pton(AF_INET, "10.9.0.2", &to.sin_addr);
    ASSERT_EQ(sendto(fd.get(), "hello", 5, 0, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 5);
    const test::Packet packet(receive_ipv4());
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->ol_flags, RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM);
    EXPECT_EQ(packet->pkt_len, 33u);
    EXPECT_EQ(packet->l3_len, 20);
}

TEST_F(OneEnd, RefusedPacketsAreCountedAndNotKept) {
    std::array<rte_mbuf*, 3> burst{
        test::make_packet(test::bytes_from(0xff, 0xff, 0xff)).release(),  // no IP version the kernel knows
        test::make_packet(datagram(1)).release(), test::make_packet(datagram(2)).release()};
    burst[1]->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_SEG;  // lengths missing
    EXPECT_EQ(tun->tx_burst(0, burst), 3);
    const auto counters = counters_of(*tun);
    EXPECT_EQ(counters.at("tx_dropped_refused"), 1u);
    EXPECT_EQ(counters.at("tx_dropped_offload"), 1u);
    EXPECT_EQ(counters.at("tx_good_packets"), 1u);
}

TEST_F(OneEnd, ReportsNameAndLinkState) {
    EXPECT_EQ(tun->name(), "vl0");
    EXPECT_TRUE(tun->link_up());
    tun->down();
    EXPECT_FALSE(tun->link_up());
    std::array<rte_mbuf*, 1> burst{test::make_packet(datagram(0)).release()};
    EXPECT_EQ(tun->tx_burst(0, burst), 1);
    EXPECT_EQ(counters_of(*tun).at("tx_dropped_refused"), 1u);
    EXPECT_EQ(tun->capabilities().max_packet, 1500u);
    EXPECT_EQ(tun->set_identity({}), std::errc::operation_not_supported);
}

TEST_F(OneEnd, ShowsTheKernelACarrier) {
    const auto flag = [&](const char* name) {
        return std::system(
                   ("nsenter --net=" + space->path() + " ip link show vl0 | grep -q '<.*" + name + ".*>'").c_str()) ==
               0;
    };
    EXPECT_TRUE(flag("LOWER_UP"));
    ASSERT_TRUE(tun->set_carrier(false));
    EXPECT_TRUE(flag("NO-CARRIER"));
    EXPECT_TRUE(tun->link_up()) << "which is up, without a carrier";
    ASSERT_TRUE(tun->set_carrier(true));
    EXPECT_FALSE(flag("NO-CARRIER"));
}

TEST_F(OneEnd, TheNameIsTakenWhileTheFirstLives) {
    const auto second = Tun::create({.name = "vl0", .netns = space->path()}, packet_pool());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().what, "interface vl0 is in use by another process; stop that first");
    tun.reset();
    EXPECT_TRUE(Tun::create({.name = "vl0", .netns = space->path()}, packet_pool()));
}

TEST(Tun, AttachesAgainToAPersistentInterfaceAfterSigkill) {
    SKIP_UNLESS_ROOT();
    const Namespace space;
    const TunOptions options{.name = "vl1", .netns = space.path(), .kind = TunKind::tap, .persistent = true};
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const FileDescriptor read_end(ready[0]), write_end(ready[1]);
    const auto child = fork();
    if (child == 0) {  // opens the interface as the device does, and dies with it open
        const auto interface = TunInterface::open(options);
        const char said = interface ? 'y' : 'n';
        if (write(ready[1], &said, 1) == 1) pause();
        _exit(1);
    }
    char said = 0;
    ASSERT_EQ(read(ready[0], &said, 1), 1);
    EXPECT_EQ(said, 'y');
    space.run("ip address add 10.9.0.1/24 dev vl1");
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const auto again = Tun::create(options, packet_pool());
    ASSERT_TRUE(again) << again.error().what;
    space.run("ip -brief address show dev vl1 | grep -q 10.9.0.1/24");
}

TEST(Tun, AnInterfaceMadeWithOneQueueHasNoMore) {
    SKIP_UNLESS_ROOT();
    const test::Namespace space;
    space.run("ip tuntap add tun1 mode tun vnet_hdr");
    const auto tun = Tun::create({.name = "tun1", .netns = space.path(), .queues = 3}, packet_pool());
    ASSERT_TRUE(tun) << tun.error().what;
    EXPECT_EQ((*tun)->capabilities().rx_queues, 1);
    EXPECT_EQ((*tun)->capabilities().tx_queues, 1);
    space.run("ip tuntap add tap1 mode tap vnet_hdr");
    const auto other = Tun::create({.name = "tap1", .netns = space.path(), .queues = 3}, packet_pool());
    ASSERT_FALSE(other);
    EXPECT_TRUE(other.error().what.contains("of another kind")) << other.error().what;
}

TEST(Tun, WrongOptionsAreOneLineEach) {
    EXPECT_EQ(Tun::create({.name = ""}, packet_pool()).error().what,
              "`` is no interface name: 1 to 15 characters, no slash");
    EXPECT_EQ(Tun::create({.name = "sixteen-letters0"}, packet_pool()).error().code, EINVAL);
    EXPECT_EQ(Tun::create({.name = "x", .queues = 0}, packet_pool()).error().what,
              "interface x: needs at least one queue");
}

}  // namespace
}  // namespace verbline::pmd
