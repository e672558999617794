// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/shard.h"

#include <map>
#include <string>

#include <rte_rcu_qsbr.h>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/icmp.h"
#include "datapath/wire/ipv4.h"
#include "pmd/base/event_descriptor.h"
#include "tests/datapath/offload/tcp_packet.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/packet.h"

namespace verbline::router {
namespace {

using forward::NextHop;
using test::ByteVector, test::bytes_of, test::Packet;
using wire::ipv4, wire::Ipv4, wire::Ethernet;

constexpr InterfaceId left{0}, right{1};
constexpr wire::MacAddress mac(unsigned n) {
    return {{std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, static_cast<std::byte>(n)}};
}
constexpr auto left_mac = mac(1), right_mac = mac(2), alice_mac = mac(0xa), bob_mac = mac(0xb);
constexpr auto left_ip = ipv4(10, 1, 0, 1), right_ip = ipv4(10, 2, 0, 1);
constexpr auto alice = ipv4(10, 1, 0, 2), bob = ipv4(10, 2, 0, 2), carol = ipv4(10, 2, 0, 3),
               nobody = ipv4(192, 0, 2, 1);

ByteVector ip_packet(wire::Ipv4Address from, wire::Ipv4Address to, std::size_t payload = 100, std::uint8_t ttl = 64,
                     bool dont_fragment = true) {
    ByteVector packet = test::pattern(Ipv4::size + payload);
    Ipv4{.total_length = static_cast<std::uint16_t>(packet.size()),
         .dont_fragment = dont_fragment,
         .time_to_live = ttl,
         .protocol = wire::IpProtocol::udp,
         .source = from,
         .destination = to}
        .with_checksum()
        .emit(std::span(packet).first<Ipv4::size>());
    return packet;
}

ByteVector in_ethernet(wire::MacAddress to, const ByteVector& packet) {
    ByteVector frame(Ethernet::size + packet.size());
    Ethernet{.destination = to, .source = alice_mac, .type = wire::ether_type::ipv4}.emit(
        std::span(frame).first<Ethernet::size>());
    std::ranges::copy(packet, frame.begin() + Ethernet::size);
    return frame;
}

/// A gateway of two Ethernet ports: 10.1.0.0/24 left, 10.2.0.0/24 right.
struct Gateway {
    /// `options`: what both ports have besides.
    explicit Gateway(bool host = false, const PortSetup& options = {}) {
        readers = static_cast<rte_rcu_qsbr*>(std::calloc(1, rte_rcu_qsbr_get_memsize(1)));
        rte_rcu_qsbr_init(readers, 1);
        fib = *forward::Fib::create({.max_routes = 64, .max_long = 64}, *readers);
        EXPECT_TRUE(fib->replace({ipv4(10, 1, 0, 0), 24}, {NextHop::Kind::on_link, left}));
        EXPECT_TRUE(fib->replace({ipv4(10, 2, 0, 0), 24}, {NextHop::Kind::on_link, right}));
        EXPECT_TRUE(fib->replace({ipv4(10, 3, 0, 0), 16}, {NextHop::Kind::via, right, carol}));
        EXPECT_TRUE(fib->replace({left_ip, 32}, {NextHop::Kind::local, left}));
        EXPECT_TRUE(fib->replace({right_ip, 32}, {NextHop::Kind::local, right}));
        const auto setup = [&options](std::string name, auto& link, auto& kernel, std::uint32_t mtu) {
            auto port = options;
            port.name = std::move(name), port.device = &link, port.kernel = &kernel, port.mtu = mtu;
            return port;
        };
        for (auto* kernel : {&left_kernel, &right_kernel}) kernel->capabilities().carries = pmd::Carries::ip;
        shard.emplace(ShardSetup{
            .ports = {setup("left", left_link, left_kernel, 1500), setup("right", right_link, right_kernel, 1000)},
            .fib = fib.get(),
            .readers = readers,
            .pool = test::packet_pool(),
            .commands = &commands,
            .events = &events,
            .wake_control = &wake,
            .deliver_all_to_kernel = host});
        command(SetEthernet{left, left_mac}), command(SetEthernet{right, right_mac});
        command(SetAddress{left, left_ip}), command(SetAddress{right, right_ip});
        command(SetNeighbour{left, link::gid_of(alice),
                             link::ethernet_destination(left_mac, alice_mac, wire::ether_type::ipv4)});
        poll();
    }
    ~Gateway() {
        shard.reset();
        fib.reset();
        std::free(readers);
    }

    void command(const Command& c) { ASSERT_TRUE(commands.push(c)); }
    Work poll() { return shard->poll(now); }
    void from_alice(const ByteVector& packet) {
        left_link.receive(in_ethernet(left_mac, packet));
        poll();
    }
    void resolve(wire::Ipv4Address who) {
        command(SetNeighbour{right, link::gid_of(who),
                             link::ethernet_destination(right_mac, bob_mac, wire::ether_type::ipv4)});
        poll();
    }
    std::uint64_t counter(std::string_view wanted) const {
        std::uint64_t found = 0;
        shard->counters([&](std::string_view, std::string_view name, std::uint64_t value, std::string_view) {
            if (name == wanted) found += value;
        });
        return found;
    }

    rte_rcu_qsbr* readers = nullptr;
    std::unique_ptr<forward::Fib> fib;
    test::FakeNetDevice left_link, right_link, left_kernel, right_kernel;
    Ring<Command> commands = std::move(*Ring<Command>::create("commands", 256));
    Ring<Event> events = std::move(*Ring<Event>::create("events", 256));
    EventDescriptor wake = EventDescriptor::make();
    std::optional<Shard> shard;
    Time now = 0;
};

/// The only packet that was sent on an Ethernet device, without its Ethernet header.
ByteVector only_packet(test::FakeNetDevice& device) {
    EXPECT_EQ(device.sent.size(), 1u);
    if (device.sent.empty()) return {};
    auto bytes = bytes_of(device.sent.front());
    device.sent.clear();
    bytes.erase(bytes.begin(), bytes.begin() + Ethernet::size);
    return bytes;
}

TEST(Shard, ReadsTheKernelWhileALinkIsBusy) {
    Gateway gateway;
    gateway.resolve(bob);
    gateway.right_kernel.receive(ip_packet(right_ip, bob));
    gateway.from_alice(ip_packet(alice, bob));
    EXPECT_EQ(gateway.right_link.sent.size(), 2u) << "what was forwarded in this poll is no congestion";

    gateway.right_link.tx_room = 0;
    gateway.from_alice(ip_packet(alice, bob));
    gateway.right_kernel.receive(ip_packet(right_ip, bob));
    gateway.poll();
    EXPECT_FALSE(gateway.right_kernel.to_receive.empty()) << "read although the link is full";
    gateway.right_link.tx_room = 100;
    gateway.poll(), gateway.poll();
    EXPECT_EQ(gateway.right_link.sent.size(), 4u);
}

TEST(Shard, ReadsSilentTunsLessOftenWhileItIsBusy) {
    Gateway gateway;
    gateway.resolve(bob);
    gateway.right_kernel.capabilities().lossless_rx = true;
    const auto reads_of = [&](unsigned polls) {
        const auto before = gateway.right_kernel.reads;
        for (unsigned i = 0; i < polls; ++i) gateway.from_alice(ip_packet(alice, bob));
        return gateway.right_kernel.reads - before;
    };
    gateway.poll();
    EXPECT_EQ(reads_of(9 * (ReadPause::polls + 1)), 9u);

    gateway.right_kernel.receive(ip_packet(right_ip, bob));
    unsigned polls = 0;
    for (; !gateway.right_kernel.to_receive.empty(); ++polls) reads_of(1);
    EXPECT_LE(polls, ReadPause::polls + 1);
    gateway.right_kernel.receive(ip_packet(right_ip, bob));
    EXPECT_EQ(reads_of(1), 1u) << "what had packets is read in each poll";

    gateway.poll();  // finds nothing
    const auto before = gateway.right_kernel.reads;
    gateway.poll();
    EXPECT_EQ(gateway.right_kernel.reads, before + 1) << "an idle shard reads every device";
}

TEST(Shard, ForwardsAndDecrementsTheTtl) {
    Gateway gateway;
    gateway.resolve(bob);
    gateway.from_alice(ip_packet(alice, bob));
    const auto packet = only_packet(gateway.right_link);
    EXPECT_EQ(packet, ip_packet(alice, bob, 100, 63)) << "with its header checksum right again";
}

TEST(Shard, AsksOnceForAnUnknownNeighbourAndThenSendsWhatWaited) {
    Gateway gateway;
    for (int i = 0; i < 3; ++i) gateway.from_alice(ip_packet(alice, bob));
    EXPECT_TRUE(gateway.right_link.sent.empty());
    const auto event = gateway.events.pop();
    ASSERT_TRUE(event && std::holds_alternative<Unresolved>(*event));
    EXPECT_EQ(std::get<Unresolved>(*event).address, link::gid_of(bob));
    EXPECT_FALSE(gateway.events.pop()) << "one event for three packets";
    EXPECT_TRUE(gateway.wake.drain()) << "the control thread was woken";
    gateway.resolve(bob);
    EXPECT_EQ(gateway.right_link.sent.size(), 3u);
}

TEST(Shard, SendsThroughAGatewayToTheGatewaysAddress) {
    Gateway gateway;
    gateway.from_alice(ip_packet(alice, ipv4(10, 3, 7, 7)));
    const auto event = gateway.events.pop();
    ASSERT_TRUE(event);
    EXPECT_EQ(std::get<Unresolved>(*event).address, link::gid_of(carol));
}

void expect_icmp(const ByteVector& packet, wire::Ipv4Address from, std::uint8_t type, std::uint8_t code) {
    const auto ip = Ipv4::parse(packet);
    ASSERT_TRUE(ip);
    EXPECT_EQ(ip->source, from);
    EXPECT_EQ(ip->destination, alice);
    EXPECT_EQ(ip->protocol, wire::IpProtocol::icmp);
    EXPECT_EQ(wire::load8(packet, 20), type);
    EXPECT_EQ(wire::load8(packet, 21), code);
}

TEST(Shard, SaysWhyAPacketCannotBeDelivered) {
    Gateway gateway;
    gateway.from_alice(ip_packet(alice, bob, 100, 1));
    expect_icmp(only_packet(gateway.left_link), left_ip, 11, 0);
    gateway.from_alice(ip_packet(alice, nobody));
    expect_icmp(only_packet(gateway.left_link), left_ip, 3, 0);
    gateway.from_alice(ip_packet(alice, bob, 1100));
    const auto too_big = only_packet(gateway.left_link);
    expect_icmp(too_big, left_ip, 3, 4);
    EXPECT_EQ(wire::load16(too_big, 26), 1000) << "the next link's MTU";
    gateway.from_alice(ip_packet(alice, bob));
    gateway.command(FailNeighbour{right, link::gid_of(bob)});
    gateway.poll();
    expect_icmp(only_packet(gateway.left_link), left_ip, 3, 1);

    EXPECT_EQ(gateway.counter("dropped_ttl"), 1u);
    EXPECT_EQ(gateway.counter("dropped_no_route"), 1u);
    EXPECT_EQ(gateway.counter("dropped_mtu"), 1u);
    EXPECT_EQ(gateway.counter("dropped_neighbour_failed"), 1u);
    EXPECT_EQ(gateway.counter("icmp_errors_sent"), 4u);
}

TEST(Shard, GivesUpOnANeighbourThatNobodyResolves) {
    Gateway gateway;
    gateway.from_alice(ip_packet(alice, bob));
    gateway.now += 10 * second;
    gateway.poll();
    gateway.poll();
    expect_icmp(only_packet(gateway.left_link), left_ip, 3, 1);
}

TEST(Shard, FragmentsWhereItMay) {
    Gateway gateway;
    gateway.resolve(bob);
    gateway.from_alice(ip_packet(alice, bob, 1400, 64, false));
    ASSERT_EQ(gateway.right_link.sent.size(), 2u);
    for (auto& piece : gateway.right_link.sent) EXPECT_LE(piece->pkt_len, 1000u + Ethernet::size);
}

/// The lengths of what was sent on an Ethernet device.
std::vector<std::size_t> lengths(const test::FakeNetDevice& device) {
    std::vector<std::size_t> out;
    for (const auto& packet : device.sent) out.push_back(packet->pkt_len - Ethernet::size - Ipv4::size);
    return out;
}

/// Packets of one burst are looked up together, and part again.
TEST(Shard, PartsABurstByPortAndNeighbourInItsOrder) {
    Gateway gateway;
    gateway.resolve(bob);
    for (std::size_t i = 1; i <= 12; ++i) {
        const auto to = i % 4 == 0 ? carol : i % 4 == 1 ? alice : i % 4 == 2 ? bob : nobody;
        gateway.left_link.receive(in_ethernet(left_mac, ip_packet(alice, to, i * 10)));
    }
    gateway.poll();
    EXPECT_EQ(lengths(gateway.right_link), (std::vector<std::size_t>{20, 60, 100})) << "bob's";
    EXPECT_EQ(gateway.counter("dropped_no_route"), 3u);
    const auto event = gateway.events.pop();
    ASSERT_TRUE(event && std::holds_alternative<Unresolved>(*event));
    EXPECT_EQ(std::get<Unresolved>(*event).address, link::gid_of(carol));
    EXPECT_FALSE(gateway.events.pop());
    EXPECT_EQ(gateway.left_link.sent.size(), 6u) << "alice's own, which come back, and three ICMP errors";

    gateway.resolve(carol);
    EXPECT_EQ(lengths(gateway.right_link), (std::vector<std::size_t>{20, 60, 100, 40, 80, 120})) << "carol's waited";
}

/// More pieces than a burst has room for.
TEST(Shard, FragmentsAWholeBurstInOrder) {
    Gateway gateway;
    gateway.resolve(bob);
    constexpr std::size_t packets = 50;
    for (std::size_t i = 0; i < packets; ++i) {
        gateway.left_link.receive(in_ethernet(left_mac, ip_packet(alice, bob, 1400, 64, false)));
    }
    gateway.poll(), gateway.poll();
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < packets; ++i) expected.insert(expected.end(), {976, 424});
    EXPECT_EQ(lengths(gateway.right_link), expected);
}

/// A SYN that announces this maximum segment size.
ByteVector syn(wire::Ipv4Address from, wire::Ipv4Address to, unsigned mss, std::uint8_t ttl = 64) {
    offload::TcpPacket packet{.options = test::bytes_from(2, 4, mss >> 8, mss & 255), .payload = {}};
    packet.ip.source = from, packet.ip.destination = to, packet.ip.time_to_live = ttl;
    packet.tcp.flags = wire::tcp_flag::syn;
    return packet.bytes();
}

TEST(Shard, ClampsTheSegmentsOfTcpBothWays) {
    Gateway gateway(false, {.clamp_mss = true});
    gateway.resolve(bob);
    gateway.from_alice(syn(alice, bob, 1460));
    EXPECT_EQ(only_packet(gateway.right_link), syn(alice, bob, 960, 63)) << "the next link's MTU is 1000";
    gateway.right_link.receive(in_ethernet(right_mac, syn(bob, alice, 1460)));
    gateway.poll();
    EXPECT_EQ(only_packet(gateway.left_link), syn(bob, alice, 960, 63)) << "what answers it comes back to that link";
    gateway.from_alice(syn(alice, bob, 536));
    EXPECT_EQ(only_packet(gateway.right_link), syn(alice, bob, 536, 63));
    EXPECT_EQ(gateway.counter("mss_clamped_packets"), 2u);
}

TEST(Shard, LeavesTheSegmentsOfTcpUnlessTold) {
    Gateway gateway;
    gateway.resolve(bob);
    gateway.from_alice(syn(alice, bob, 1460));
    EXPECT_EQ(only_packet(gateway.right_link), syn(alice, bob, 1460, 63));
    EXPECT_EQ(gateway.counter("mss_clamped_packets"), 0u);
}

/// How many of a burst from the left, one from each of these sources to bob, get there.
std::size_t passed(forward::ReversePath check, const std::vector<wire::Ipv4Address>& sources) {
    Gateway gateway(false, {.reverse_path = check});
    gateway.resolve(bob);
    for (const auto source : sources) gateway.left_link.receive(in_ethernet(left_mac, ip_packet(source, bob)));
    gateway.poll();
    const auto through = gateway.right_link.sent.size();
    EXPECT_EQ(gateway.counter("dropped_reverse_path"), sources.size() - through);
    EXPECT_EQ(gateway.counter("icmp_errors_sent"), 0u);
    return through;
}

TEST(Shard, ChecksTheReversePathOfSources) {
    using enum forward::ReversePath;
    const auto behind_carol = ipv4(10, 3, 0, 1);
    EXPECT_EQ(passed(off, {alice, carol, behind_carol, nobody, left_ip, right_ip}), 6u);
    EXPECT_EQ(passed(strict, {alice}), 1u);
    EXPECT_EQ(passed(strict, {carol, behind_carol, nobody, left_ip, right_ip}), 0u);
    EXPECT_EQ(passed(loose, {alice, carol, behind_carol}), 3u);
    EXPECT_EQ(passed(loose, {nobody, left_ip, right_ip}), 0u) << "no route, or ours";
}

TEST(Shard, ChecksTheReversePathOfWhatTheKernelGets) {
    Gateway gateway(false, {.reverse_path = forward::ReversePath::strict});
    gateway.from_alice(ip_packet(bob, left_ip));
    gateway.from_alice(ip_packet(bob, ipv4(255, 255, 255, 255)));
    EXPECT_TRUE(gateway.left_kernel.sent.empty());
    gateway.from_alice(ip_packet({}, ipv4(255, 255, 255, 255)));
    EXPECT_EQ(gateway.left_kernel.sent.size(), 1u) << "DHCP: a host that has no address yet";
    EXPECT_EQ(gateway.counter("dropped_reverse_path"), 2u);
}

TEST(Shard, KeepsTheOrderOfWhatPassesTheReversePathCheck) {
    Gateway gateway(false, {.reverse_path = forward::ReversePath::strict});
    gateway.resolve(bob);
    for (std::size_t i = 1; i <= 12; ++i) {
        gateway.left_link.receive(in_ethernet(left_mac, ip_packet(i % 3 == 0 ? carol : alice, bob, i * 10)));
    }
    gateway.poll();
    EXPECT_EQ(lengths(gateway.right_link), (std::vector<std::size_t>{10, 20, 40, 50, 70, 80, 100, 110}));
}

TEST(Shard, HandsTheKernelWhatIsOurs) {
    Gateway gateway;
    const auto ping = ip_packet(alice, right_ip);
    gateway.from_alice(ping);
    ASSERT_EQ(gateway.left_kernel.sent.size(), 1u);
    EXPECT_EQ(bytes_of(gateway.left_kernel.sent[0]), ping) << "TTL and all";
}

/// RFC 2644: from another network.
TEST(Shard, NeverRoutesADirectedBroadcast) {
    Gateway gateway;
    const auto all_of_right = ipv4(10, 2, 0, 255);
    EXPECT_TRUE(gateway.fib->replace({all_of_right, 32}, {NextHop::Kind::local, right}));
    gateway.resolve(all_of_right);
    gateway.command(
        SetBroadcast{right, link::ethernet_destination(right_mac, wire::broadcast_mac, wire::ether_type::ipv4)});
    gateway.from_alice(ip_packet(alice, all_of_right));
    EXPECT_TRUE(gateway.right_link.sent.empty());
    EXPECT_EQ(gateway.left_kernel.sent.size(), 1u) << "a host's business";
    EXPECT_EQ(gateway.counter("forwarded_packets"), 0u);
}

TEST(Shard, HandsTheKernelABurstAsOne) {
    Gateway gateway;
    for (std::uint16_t size = 100; size < 108; ++size) {
        const auto to = size % 2 == 0 ? right_ip : bob;
        gateway.left_link.receive(in_ethernet(left_mac, ip_packet(alice, to, size)));
    }
    gateway.poll();
    ASSERT_EQ(gateway.left_kernel.sent.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(gateway.left_kernel.sent[i]->pkt_len, Ipv4::size + 100 + 2 * i);
    EXPECT_EQ(gateway.left_kernel.bursts_sent, 1u);
}

TEST(Shard, AHostHandsTheKernelEverything) {
    Gateway gateway(true);
    gateway.from_alice(ip_packet(alice, nobody));
    EXPECT_EQ(gateway.left_kernel.sent.size(), 1u);
}

TEST(Shard, SendsWhatTheKernelSends) {
    Gateway gateway;
    gateway.resolve(bob);
    gateway.right_kernel.receive(ip_packet(right_ip, bob, 100, 1));
    gateway.poll();
    EXPECT_EQ(only_packet(gateway.right_link), ip_packet(right_ip, bob, 100, 1)) << "it is not ours to count down";
}

TEST(Shard, SendsTheKernelsBroadcastsToTheBroadcastDestination) {
    Gateway gateway;
    gateway.right_kernel.receive(ip_packet(right_ip, ipv4(255, 255, 255, 255)));
    gateway.poll();
    EXPECT_EQ(gateway.counter("dropped_broadcast"), 1u) << "there is none yet";
    gateway.command(
        SetBroadcast{right, link::ethernet_destination(right_mac, wire::broadcast_mac, wire::ether_type::ipv4)});
    gateway.right_kernel.receive(ip_packet(right_ip, ipv4(255, 255, 255, 255)));
    gateway.poll();
    ASSERT_EQ(gateway.right_link.sent.size(), 1u);
}

TEST(Shard, LeavesPacketsWithTheKernelWhileALinkIsCongested) {
    Gateway gateway;
    gateway.resolve(bob);
    gateway.right_link.tx_room = 0;
    gateway.right_kernel.receive(ip_packet(right_ip, bob));
    gateway.poll();
    gateway.right_kernel.receive(ip_packet(right_ip, bob));
    gateway.poll();
    EXPECT_EQ(gateway.right_kernel.to_receive.size(), 1u) << "it waits where it is";
    gateway.right_link.tx_room = 8;
    gateway.poll(), gateway.poll();
    EXPECT_EQ(gateway.right_link.sent.size(), 2u);
}

TEST(Shard, IgnoresFramesForOthersAndGarbage) {
    Gateway gateway;
    gateway.left_link.receive(in_ethernet(mac(0x77), ip_packet(alice, bob)));
    gateway.left_link.receive(test::pattern(5));
    gateway.left_link.receive(in_ethernet(left_mac, test::pattern(60)));
    gateway.poll();
    EXPECT_EQ(gateway.counter("rx_dropped_not_ours"), 1u);
    EXPECT_EQ(gateway.counter("rx_dropped_malformed"), 1u);
    EXPECT_TRUE(gateway.right_link.sent.empty());
    EXPECT_TRUE(gateway.left_kernel.sent.empty());
    EXPECT_FALSE(gateway.events.pop());
}

/// A kernel interface with one queue is shared by several shards (pmd/rss): the one that reads it hands packets over.
TEST(Shard, IsBusyWhileADeviceOfItsHandsPacketsToOthers) {
    Gateway gateway;
    for (auto* device : {&gateway.left_link, &gateway.right_kernel}) {
        device->consumes = true;
        EXPECT_EQ(gateway.poll(), Work::busy);
        device->consumes = false;
        EXPECT_EQ(gateway.poll(), Work::idle);
    }
}

TEST(Shard, LetsItsDevicesSendWhatOthersHaveHandedThemEvenWhileALinkIsCongested) {
    Gateway gateway;
    gateway.resolve(bob);
    gateway.right_link.tx_room = 0;
    gateway.from_alice(ip_packet(alice, bob));
    const auto before = gateway.left_kernel.empty_bursts;
    gateway.poll();
    EXPECT_EQ(gateway.left_kernel.empty_bursts, before + 1);
}

TEST(Shard, SaysWhenItFoundNothingToDo) {
    Gateway gateway;
    EXPECT_EQ(gateway.poll(), Work::idle);
    gateway.left_link.receive(test::pattern(5));
    EXPECT_EQ(gateway.poll(), Work::busy);
}

}  // namespace
}  // namespace verbline::router
