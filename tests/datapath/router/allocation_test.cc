// SPDX-License-Identifier: BSD-3-Clause
// A shard in its steady state asks the heap for nothing, whatever packets come: its mbufs are the pool's, its tables as
// large as they will be.
#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/router/shard.h"
#include "datapath/wire/ipv6.h"
#include "tests/datapath/offload/tcp_packet.h"
#include "tests/datapath/router/shard_counter.h"
#include "tests/datapath/router/two_ports.h"
#include "tests/support/fib_readers.h"
#include "tests/support/heap_calls.h"
#include "tests/support/ipv6.h"

namespace verbline::router::allocation {
namespace {

using namespace two_ports;
using test::heap_calls;

/// Receives the same packets again and again, eight in a poll, and sends nothing anywhere.
class Endless final : public test::FakeNetDevice {
public:
    std::uint16_t rx_burst(std::uint16_t, pmd::Burst burst) noexcept override {
        std::uint16_t n = 0;
        for (; n < std::min<std::size_t>(burst.size(), 8) && !packets.empty(); ++n) {
            const auto& [bytes, requests, segment, l3] = packets[next_++ % packets.size()];
            auto packet = test::make_packet(bytes);
            packet->ol_flags = requests, packet->tso_segsz = segment;
            packet->l3_len = l3, packet->l4_len = 20;
            burst[n] = packet.release();
        }
        return n;
    }
    std::uint16_t tx_burst(std::uint16_t, pmd::Burst burst) noexcept override {
        if (!burst.empty()) rte_pktmbuf_free_bulk(burst.data(), static_cast<unsigned>(burst.size()));
        taken += burst.size();
        return static_cast<std::uint16_t>(burst.size());
    }

    struct Repeated {
        ByteVector bytes;
        std::uint64_t requests = 0;  ///< RTE_MBUF_F_TX_*
        std::uint16_t segment = 0;   ///< tso_segsz
        std::uint8_t l3 = 20;        ///< l3_len
    };
    std::vector<Repeated> packets;
    std::uint64_t taken = 0;

private:
    std::size_t next_ = 0;
};

constexpr ipoib::Identity us{.port = {.carrier = link::Carrier::soft_ib, .lid = wire::Lid{3}},
                             .qpn = wire::Qpn{0x48},
                             .qkey = wire::QKey{0xb1b}};
constexpr ipoib::Identity peer{.port = {.carrier = link::Carrier::soft_ib, .lid = wire::Lid{4}},
                               .qpn = wire::Qpn{0x49},
                               .qkey = wire::QKey{0xb1b}};
const auto alice6 = test::ipv6("fd76:1::2"), bob6 = test::ipv6("fd76:2::2"), nobody6 = test::ipv6("fd77::1");

ByteVector ipv6_packet(const wire::Ipv6Address& from, const wire::Ipv6Address& to, std::size_t payload,
                       std::uint8_t hops = 64) {
    ByteVector packet = test::pattern(wire::Ipv6::size + payload);
    wire::Ipv6{.payload_length = static_cast<std::uint16_t>(payload),
               .next_header = wire::IpProtocol::udp,
               .hop_limit = hops,
               .source = from,
               .destination = to}
        .emit(std::span(packet).first<wire::Ipv6::size>());
    return packet;
}

/// What arrives from the LAN: good packets and every kind that ends otherwise.
std::vector<Endless::Repeated> from_lan() {
    const auto ipv4_frame = [](const ByteVector& packet) { return Endless::Repeated{in_ethernet(left_mac, packet)}; };
    const auto ipv6_frame = [](const ByteVector& packet) {
        auto frame = in_ethernet(left_mac, packet);
        wire::store16(frame, 12, static_cast<std::uint16_t>(wire::ether_type::ipv6));
        return Endless::Repeated{frame};
    };
    auto syn = offload::TcpPacket{.options = test::bytes_from(2, 4, 0x05, 0xb4), .payload = {}};
    syn.tcp.flags = wire::tcp_flag::syn;
    offload::TcpPacket first{.options = {}, .payload = test::pattern(500)}, second = first;
    second.tcp.sequence += 500;
    auto arp = in_ethernet(left_mac, ByteVector(28));
    wire::store16(arp, 12, static_cast<std::uint16_t>(wire::ether_type::arp));
    std::vector<Endless::Repeated> frames = {{arp},
                                             ipv4_frame(first.bytes()),
                                             ipv4_frame(second.bytes()),
                                             ipv4_frame(ip_packet(alice, bob)),
                                             ipv4_frame(ip_packet(alice, bob, 1400, 64, false)),
                                             ipv4_frame(ip_packet(alice, bob, 1400)),
                                             ipv4_frame(ip_packet(alice, bob, 100, 1)),
                                             ipv4_frame(ip_packet(alice, nobody)),
                                             ipv4_frame(ip_packet(alice, left_ip)),
                                             ipv4_frame(syn.bytes()),
                                             ipv6_frame(ipv6_packet(alice6, bob6, 100)),
                                             ipv6_frame(ipv6_packet(alice6, bob6, 1400)),
                                             ipv6_frame(ipv6_packet(alice6, bob6, 100, 1)),
                                             ipv6_frame(ipv6_packet(alice6, nobody6, 99)),
                                             {in_ethernet(mac(99), ip_packet(alice, bob))},
                                             {ByteVector(9)}};
    // Hosts that nobody has resolved, one after the other.
    for (unsigned host = 3; host < 250; ++host) frames.push_back(ipv4_frame(ip_packet(alice, ipv4(10, 2, 0, host))));
    for (int i = 0; i < 32; ++i)
        frames.push_back(ipv4_frame(ip_packet(alice, ipv4(10, 2, 0, 3))));  // more than may wait
    return frames;
}

/// What arrives from the fabric: packets to Alice, and one for another queue pair.
std::vector<Endless::Repeated> from_fabric() {
    test::FakeNetDevice device;
    ipoib::IpoibInterface link(device, 0, *test::packet_pool());
    link.set_port(peer);
    for (const auto qpn : {us.qpn, wire::Qpn{0x50}}) {
        link.transmit(test::make_packet(ip_packet(bob, alice)).release(),
                      ipoib::destination(peer, {.dlid = us.port.lid}, qpn, wire::ether_type::ipv4));
    }
    link.transmit(test::make_packet(ipv6_packet(bob6, alice6, 200)).release(),
                  ipoib::destination(peer, {.dlid = us.port.lid}, us.qpn, wire::ether_type::ipv6));
    link.flush();
    std::vector<Endless::Repeated> frames;
    for (const auto& frame : device.sent) frames.push_back({test::bytes_of(frame)});
    return frames;
}

/// Large packets of the kernel's, to be cut.
Endless::Repeated to_be_cut(wire::Ipv4Address from, wire::Ipv4Address to) {
    offload::TcpPacket packet{.options = {}, .payload = test::pattern(20'000)};
    packet.ip.source = from, packet.ip.destination = to;
    return {packet.bytes(),
            RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_IPV4, 900};
}
Endless::Repeated ipv6_to_be_cut(const wire::Ipv6Address& from, const wire::Ipv6Address& to) {
    auto packet = ipv6_packet(from, to, 20'020);
    packet[6] = static_cast<std::byte>(wire::IpProtocol::tcp);
    const offload::TcpPacket tcp{.options = {}, .payload = {}};
    const auto whole = tcp.bytes();
    std::ranges::copy(std::span(whole).subspan(20), packet.begin() + wire::Ipv6::size);
    return {packet, RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_IPV6, 900, wire::Ipv6::size};
}

struct BusyGateway {
    BusyGateway() {
        fib = *forward::Fib::create({.max_routes = 64, .max_long = 64}, *readers);
        ipv6_fib = *forward::Ipv6Fib::create({.max_routes = 64, .max_long = 256}, *readers);
        EXPECT_TRUE(fib->replace({ipv4(10, 1, 0, 0), 24}, {NextHop::Kind::on_link, left}));
        EXPECT_TRUE(fib->replace({ipv4(10, 2, 0, 0), 24}, {NextHop::Kind::on_link, right}));
        EXPECT_TRUE(fib->replace({left_ip, 32}, {NextHop::Kind::local, left}));
        EXPECT_TRUE(ipv6_fib->replace(test::ipv6_prefix("fd76:1::/64"), {forward::NextHopKind::on_link, left}));
        EXPECT_TRUE(ipv6_fib->replace(test::ipv6_prefix("fd76:2::/64"), {forward::NextHopKind::on_link, right}));
        for (auto* each : {&lan_kernel, &ib_kernel}) each->capabilities().carries = pmd::Carries::ip;
        lan.packets = from_lan(), ib.packets = from_fabric(), lan_kernel.packets = {to_be_cut(left_ip, alice)};
        ib_kernel.packets = {to_be_cut(alice, bob), ipv6_to_be_cut(alice6, bob6)};
        shard.emplace(ShardSetup{.ports = {{.name = "lan", .device = &lan, .kernel = &lan_kernel},
                                           {.name = "ib",
                                            .kind = PortSetup::Kind::ipoib,
                                            .device = &ib,
                                            .kernel = &ib_kernel,
                                            .mtu = 1000,
                                            .clamp_mss = true}},
                                 .fib = fib.get(),
                                 .ipv6_fib = ipv6_fib.get(),
                                 .readers = readers.get(),
                                 .pool = test::packet_pool(),
                                 .commands = &commands,
                                 .events = &events});
        std::ignore = commands.push(SetEthernet{left, left_mac});
        std::ignore = commands.push(SetIpoib{right, us});
        std::ignore = commands.push(SetAddress{left, left_ip, test::ipv6("fd76:1::1")});
        set_neighbours();
    }
    ~BusyGateway() {
        shard.reset();
        while (const auto event = events.pop()) drop(*event);
    }
    static void drop(const Event& event) {
        if (const auto* punted = std::get_if<Punted>(&event)) rte_pktmbuf_free(punted->packet);
    }

    /// Neighbours come, and some go.
    void set_neighbours() {
        const auto to_bob = [](wire::EtherType type) {
            return ipoib::destination(us, {.dlid = peer.port.lid}, peer.qpn, type);
        };
        const auto to_alice = [](wire::EtherType type) {
            return link::ethernet_destination(left_mac, alice_mac, type);
        };
        const std::array<Command, 6> all = {
            SetNeighbour{right, link::gid_of(bob), to_bob(wire::ether_type::ipv4)},
            SetNeighbour{right, wire::Gid{bob6.bytes}, to_bob(wire::ether_type::ipv6)},
            SetNeighbour{left, link::gid_of(alice), to_alice(wire::ether_type::ipv4)},
            SetNeighbour{left, wire::Gid{alice6.bytes}, to_alice(wire::ether_type::ipv6)},
            FailNeighbour{right, link::gid_of(ipv4(10, 2, 0, 9))},
            ForgetNeighbour{right, link::gid_of(ipv4(10, 2, 0, 10))}};
        for (const auto& each : all) std::ignore = commands.push(each);
    }
    /// As the threads of a gateway do in `polls` polls, 20 ms apart.
    void run(unsigned polls) {
        for (unsigned i = 0; i < polls; ++i) {
            if (i % 50 == 0) set_neighbours();
            shard->poll(now += 20 * millisecond);
            while (const auto event = events.pop()) drop(*event);
        }
    }

    std::uint64_t counter(std::string_view wanted) const { return shard_counter(*shard, wanted); }

    rte_mempool* pool = test::packet_pool();  // starts DPDK, before the rings
    test::FibReaders readers = test::fib_readers();
    std::unique_ptr<forward::Fib> fib;
    std::unique_ptr<forward::Ipv6Fib> ipv6_fib;
    Endless lan, ib, lan_kernel, ib_kernel;
    Ring<Command> commands = std::move(*Ring<Command>::create("commands", 256));
    Ring<Event> events = std::move(*Ring<Event>::create("events", 256));
    std::optional<Shard> shard;
    Time now = 0;
};

TEST(Allocation, IsCounted) {
    const auto before = heap_calls();
    auto memory = std::make_unique<std::vector<int>>(100);
    EXPECT_EQ(heap_calls() - before, 2U);
    std::free(std::malloc(memory->size()));
    EXPECT_EQ(heap_calls() - before, 3U);
}

TEST(Allocation, NeverHappensInASteadyShard) {
    BusyGateway gateway;
    gateway.run(2'000);
    const auto taken = gateway.lan.taken + gateway.ib.taken;
    std::ignore = heap_calls();
    const auto before = heap_calls();
    gateway.run(2'000);
    EXPECT_EQ(heap_calls() - before, 0U);
    EXPECT_GT(gateway.lan.taken + gateway.ib.taken, taken + 10'000) << "while it forwarded";
    EXPECT_GT(shard_counter(*gateway.shard, "tx_segmented", "lan"), 0U) << "to Ethernet";
    EXPECT_GT(shard_counter(*gateway.shard, "tx_segmented", "ib"), 2'000U) << "to IPoIB, of both families";
    for (const auto* each :
         {"rx_coalesced", "fragments_made", "punted_packets", "mss_clamped_packets", "icmp_errors_sent",
          "dropped_no_route", "dropped_neighbour_failed", "dropped_wait_queue_full", "rx_dropped_qpn"})
        EXPECT_GT(gateway.counter(each), 0U) << each;
}

}  // namespace
}  // namespace verbline::router::allocation
