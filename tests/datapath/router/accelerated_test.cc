// SPDX-License-Identifier: BSD-3-Clause
// A gateway on hardware that does all of IPoIB, on hardware that has none of its operations, and on all between: what
// its hosts receive is the same.
#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datapath/link/soft_ib.h"
#include "tests/datapath/offload/tcp_packet.h"
#include "tests/datapath/offload/tunnel_packet.h"
#include "tests/datapath/router/shard_counter.h"
#include "tests/datapath/router/two_ports.h"
#include "tests/support/accelerated_device.h"
#include "tests/support/fib_readers.h"

namespace verbline::router {
namespace {

using namespace two_ports;
using test::AcceleratedDevice, test::DeviceOperation, test::DeviceOperations;

constexpr link::SourceAddress endpoint(std::uint16_t lid) {
    return {.carrier = link::Carrier::soft_ib,
            .gid = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{0x100000U + lid}),
            .lid = wire::Lid{lid}};
}
constexpr ipoib::Identity us{.port = endpoint(3), .qpn = wire::Qpn{0x48}, .qkey = wire::QKey{0xb1b}};
constexpr ipoib::Identity peer{.port = endpoint(4), .qpn = wire::Qpn{0x49}, .qkey = wire::QKey{0xb1b}};
constexpr pmd::MulticastAddress group(std::uint16_t mlid) {
    return {.mac = link::soft_ib::mac_of(wire::Lid{mlid}), .mlid = wire::Lid{mlid}};
}
constexpr auto broadcast = group(0xc000);

/// The LAN's port does what the fabric's does, on Ethernet.
DeviceOperations of_ethernet(DeviceOperations operations) {
    operations.erase(DeviceOperation::send);
    return operations;
}

/// Alice in the LAN, Bob behind a plain device of the fabric.
struct Accelerated {
    explicit Accelerated(const DeviceOperations& has) : lan(of_ethernet(has), {}), ib(has, us) {
        for (auto* each : {&lan_kernel, &ib_kernel}) each->capabilities().carries = pmd::Carries::ip;
        fib = *forward::Fib::create({.max_routes = 64, .max_long = 64}, *readers);
        EXPECT_TRUE(fib->replace({ipv4(10, 1, 0, 0), 24}, {NextHop::Kind::on_link, left}));
        EXPECT_TRUE(fib->replace({ipv4(10, 2, 0, 0), 24}, {NextHop::Kind::on_link, right}));
        EXPECT_TRUE(fib->replace({right_ip, 32}, {NextHop::Kind::local, right}));
        shard.emplace(ShardSetup{
            .ports = {{.name = "lan", .device = &lan, .kernel = &lan_kernel},
                      {.name = "ib", .kind = PortSetup::Kind::ipoib, .device = &ib, .kernel = &ib_kernel, .mtu = 2044}},
            .fib = fib.get(),
            .readers = readers.get(),
            .pool = test::packet_pool(),
            .commands = &commands,
            .events = &events});
        // As the control thread's ports do: the device may refuse, the shard is told in any case.
        std::ignore = lan.set_identity({.mac = left_mac});
        std::ignore = ib.set_identity({.mac = link::soft_ib::mac_of(us.port.lid), .pkey = us.pkey, .qpn = us.qpn});
        std::ignore = ib.attach_multicast(broadcast);
        command(SetEthernet{left, left_mac}), command(SetIpoib{right, us}), command(AttachGroup{right, broadcast});
        command(SetNeighbour{left, link::gid_of(alice),
                             link::ethernet_destination(left_mac, alice_mac, wire::ether_type::ipv4)});
        command(SetNeighbour{right, link::gid_of(bob),
                             ipoib::destination(us, {.dlid = peer.port.lid}, peer.qpn, wire::ether_type::ipv4)});
        shard->poll(0);
        bobs_link.set_port(peer);
    }
    void command(const Command& c) { ASSERT_TRUE(commands.push(c)); }

    /// What Bob receives of what the gateway has sent.
    std::vector<ByteVector> to_bob() {
        shard->poll(0);
        std::vector<ByteVector> packets;
        for (const auto& frame : std::exchange(ib.frames, {})) {
            bobs_device.receive(frame);
            bobs_link.receive(received);
            for (unsigned i = 0; i < received.ip_count; ++i)
                packets.push_back(test::bytes_of(test::Packet(received.ip[i])));
        }
        return packets;
    }
    /// Bob sends a packet to the port, or to a group, of the fabric.
    void from_bob(const ByteVector& packet, wire::Lid to, wire::Qpn qpn) {
        from_bob(std::vector<ByteVector>{packet}, to, qpn);
    }
    /// In one burst.
    void from_bob(const std::vector<ByteVector>& packets, wire::Lid to, wire::Qpn qpn) {
        const bool is_group = wire::is_multicast(to);
        for (const auto& packet : packets) {
            bobs_link.transmit(test::make_packet(packet).release(),
                               ipoib::destination(peer, {.dlid = to, .global = is_group, .dgid = us.port.gid}, qpn,
                                                  wire::ether_type::ipv4));
        }
        bobs_link.flush();
        for (auto& frame : std::exchange(bobs_device.sent, {})) ib.arrive(test::bytes_of(frame));
        shard->poll(0);
    }
    std::vector<ByteVector> to_alice() {
        std::vector<ByteVector> packets;
        for (const auto& frame : std::exchange(lan.frames, {}))
            packets.emplace_back(frame.begin() + Ethernet::size, frame.end());
        return packets;
    }
    std::uint64_t counter(std::string_view port, std::string_view wanted) const {
        return shard_counter(*shard, wanted, port);
    }

    rte_mempool* pool = test::packet_pool();  // starts DPDK, before the rings
    test::FibReaders readers = test::fib_readers();
    std::unique_ptr<forward::Fib> fib;
    AcceleratedDevice lan, ib;
    test::FakeNetDevice lan_kernel, ib_kernel, bobs_device;
    ipoib::IpoibInterface bobs_link{bobs_device, 0, *pool};
    link::Reception received;
    Ring<Command> commands = std::move(*Ring<Command>::create("commands", 64));
    Ring<Event> events = std::move(*Ring<Event>::create("events", 64));
    std::optional<Shard> shard;
};

/// A TCP packet as the kernel hands it over: 20 KB, to be cut, its checksums left to do.
offload::TcpPacket large(wire::Ipv4Address from, wire::Ipv4Address to) {
    offload::TcpPacket packet{.options = {}, .payload = test::pattern(20'000)};
    packet.ip.source = from, packet.ip.destination = to;
    return packet;
}

void from_kernel(test::FakeNetDevice& kernel, const offload::TcpPacket& packet) {
    auto mbuf = test::make_packet(packet.bytes());
    mbuf->ol_flags = RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_IPV4;
    mbuf->l3_len = 20, mbuf->l4_len = 20, mbuf->tso_segsz = 1400;
    kernel.to_receive.push_back(std::move(mbuf));
}

/// The payload of TCP segments, each of which is whole and checksummed.
ByteVector joined(const std::vector<ByteVector>& segments) {
    ByteVector payload;
    for (const auto& segment : segments) {
        EXPECT_LE(segment.size(), 1440U);
        EXPECT_EQ(test::naive_checksum(std::span(segment).first(20)), 0);
        EXPECT_EQ(test::naive_l4_checksum(segment, 20), 0);
        payload.insert(payload.end(), segment.begin() + 40, segment.end());
    }
    return payload;
}

/// Segments of a TCP stream in a tunnel from Bob to Alice.
std::vector<ByteVector> in_tunnel(std::uint8_t ttl) {
    auto tunnel = offload::tunnels()[5];  // with a checksum of the outer UDP
    tunnel.ip.source = bob, tunnel.ip.destination = alice, tunnel.ip.time_to_live = ttl;
    offload::TcpPacket segment{.options = {}, .payload = test::pattern(1300)};
    std::vector<ByteVector> packets;
    for (unsigned i = 0; i < 5; ++i) {
        packets.push_back(tunnel.around(segment.bytes()));
        segment = segment.followed_by(1300, i);
        ++tunnel.ip.identification;
    }
    return packets;
}

void traffic_flows(Accelerated& gateway) {
    gateway.lan.arrive(in_ethernet(left_mac, ip_packet(alice, bob)));
    EXPECT_THAT(gateway.to_bob(), testing::ElementsAre(ip_packet(alice, bob, 100, 63)));
    gateway.from_bob(ip_packet(bob, alice), us.port.lid, us.qpn);
    EXPECT_THAT(gateway.to_alice(), testing::ElementsAre(ip_packet(bob, alice, 100, 63)));

    from_kernel(gateway.ib_kernel, large(right_ip, bob));
    EXPECT_EQ(joined(gateway.to_bob()), test::pattern(20'000));
    from_kernel(gateway.lan_kernel, large(left_ip, alice));
    gateway.shard->poll(0);
    EXPECT_EQ(joined(gateway.to_alice()), test::pattern(20'000));

    gateway.from_bob(in_tunnel(64), us.port.lid, us.qpn);
    EXPECT_EQ(gateway.to_alice(), in_tunnel(63));

    gateway.from_bob(ip_packet(bob, right_ip), broadcast.mlid, wire::multicast_qpn);
    EXPECT_EQ(gateway.ib_kernel.sent.size(), 1U) << "what came to a group of the port is heard";
    EXPECT_THAT(gateway.lan.not_offered, testing::IsEmpty());
    EXPECT_THAT(gateway.ib.not_offered, testing::IsEmpty());
}

/// Frames for others end in the device's filter, or else in the shard's.
void strangers_are_kept_out(Accelerated& gateway, const DeviceOperations& has) {
    const auto heard = gateway.ib_kernel.sent.size();
    gateway.lan.arrive(in_ethernet(mac(77), ip_packet(alice, bob)));
    gateway.from_bob(ip_packet(bob, alice), wire::Lid{9}, us.qpn);
    EXPECT_THAT(gateway.to_bob(), testing::IsEmpty());
    EXPECT_THAT(gateway.to_alice(), testing::IsEmpty());
    EXPECT_EQ(gateway.ib_kernel.sent.size(), heard);

    const bool filters = has.contains(DeviceOperation::set_identity), datagrams = has.contains(DeviceOperation::send);
    EXPECT_EQ(gateway.lan.filtered, filters ? 1U : 0U);
    EXPECT_EQ(gateway.counter("lan", "rx_dropped_not_ours"), filters ? 0U : 1U);
    EXPECT_EQ(gateway.ib.filtered, filters || datagrams ? 1U : 0U);
    EXPECT_EQ(gateway.counter("ib", "rx_dropped_address"), filters || datagrams ? 0U : 1U);
}

/// Software did no more than the device could not.
void software_did_the_rest(const Accelerated& gateway, const DeviceOperations& has) {
    const bool whole = has.contains(DeviceOperation::checksums) && has.contains(DeviceOperation::chains);
    const bool cuts = whole && has.contains(DeviceOperation::segmentation);
    const bool merged = has.contains(DeviceOperation::tunnels), cuts_tunnels = whole && merged;
    EXPECT_EQ(gateway.counter("lan", "tx_segmented"), (cuts ? 0U : 1U) + (merged && !cuts_tunnels ? 1U : 0U));
    const unsigned leaving = merged ? 1 : 5;  // of the packets in the tunnel
    EXPECT_EQ(gateway.counter("", "forwarded_packets"), 2U + leaving);
    EXPECT_EQ(gateway.counter("ib", "tx_segmented"), cuts && has.contains(DeviceOperation::send) ? 0U : 1U)
        << "behind headers that software builds, hardware cannot cut";
}

void expect_all_is_well(const DeviceOperations& has) {
    Accelerated gateway(has);
    traffic_flows(gateway);
    strangers_are_kept_out(gateway, has);
    software_did_the_rest(gateway, has);
}

/// Each bit of the parameter is an operation that the hardware has.
class AcceleratedDevices : public testing::TestWithParam<unsigned> {};

TEST_P(AcceleratedDevices, CarryTheSameWhateverOperationsTheyHave) {
    DeviceOperations has;
    for (std::size_t i = 0; i < test::device_operations.size(); ++i) {
        if ((GetParam() >> i & 1) != 0) has.insert(test::device_operations[i]);
    }
    expect_all_is_well(has);
}

std::string name_of(const testing::TestParamInfo<unsigned>& info) {
    constexpr std::array names = {"SetIdentity",  "AttachMulticast", "Send",  "Checksums",
                                  "Segmentation", "Tunnels",         "Chains"};
    static_assert(names.size() == test::device_operations.size());
    std::string name;
    for (std::size_t i = 0; i < names.size(); ++i) name += (info.param >> i & 1) != 0 ? names[i] : "";
    return name.empty() ? "None" : name;
}

INSTANTIATE_TEST_SUITE_P(With, AcceleratedDevices, testing::Range(0U, 1U << test::device_operations.size()), name_of);

}  // namespace
}  // namespace verbline::router
