// SPDX-License-Identifier: BSD-3-Clause
// A host's port in connected mode, to a neighbour that takes datagrams alone: what is too large for it.
#include <optional>

#include <gtest/gtest.h>

#include "datapath/wire/icmp.h"
#include "tests/datapath/router/two_ports.h"
#include "tests/support/connected_end.h"

namespace verbline::router {
namespace {

using namespace two_ports;

constexpr InterfaceId ib_port{0};
constexpr auto own_end = test::connected_identity(3), bobs_end = test::connected_identity(4);

struct ConnectedHost {
    ConnectedHost() {
        kernel.capabilities().carries = pmd::Carries::ip;
        connections = std::move(*ipoib::Connections::create({.name = "rc", .device = &device, .pool = pool}));
        fib = *forward::Fib::create({.max_routes = 64, .max_long = 64}, *readers);
        EXPECT_TRUE(fib->replace({ipv4(10, 2, 0, 0), 24}, {NextHop::Kind::on_link, ib_port}));
        EXPECT_TRUE(fib->replace({right_ip, 32}, {NextHop::Kind::local, ib_port}));
        shard.emplace(ShardSetup{.ports = {{.name = "ib",
                                            .kind = PortSetup::Kind::ipoib,
                                            .device = &device,
                                            .kernel = &kernel,
                                            .mtu = ipoib::connected_mtu,
                                            .connections = connections.get()}},
                                 .fib = fib.get(),
                                 .readers = readers.get(),
                                 .pool = pool,
                                 .commands = &commands,
                                 .events = &events});
        command(SetIpoib{ib_port, own_end});
        command(SetAddress{.port = ib_port, .address = right_ip});
    }
    void command(const Command& c) { ASSERT_TRUE(commands.push(c)); }
    void know_bob() {
        command(SetNeighbour{
            ib_port, link::gid_of(bob),
            ipoib::destination(own_end, {.dlid = bobs_end.port.lid}, bobs_end.qpn, wire::ether_type::ipv4)});
    }
    void from_kernel(const ByteVector& packet) { kernel.receive(packet); }
    void poll() {
        for (unsigned i = 0; i < 3; ++i) shard->poll(0);
    }
    /// The neighbour's IP packets.
    std::vector<ByteVector> to_bob() {
        poll();
        ipoib::IpoibInterface bobs(bobs_device, 0, *pool);
        bobs.set_port(bobs_end);
        bobs_device.to_receive = std::exchange(device.sent, {});
        link::Reception received;
        bobs.receive(received);
        std::vector<ByteVector> packets;
        for (unsigned i = 0; i < received.ip_count; ++i) packets.push_back(bytes_of(test::Packet(received.ip[i])));
        return packets;
    }

    rte_mempool* pool = test::packet_pool();
    test::FibReaders readers = test::fib_readers();
    test::FakeNetDevice device, kernel, bobs_device;
    std::unique_ptr<ipoib::Connections> connections;
    std::unique_ptr<forward::Fib> fib;
    Ring<Command> commands = std::move(*Ring<Command>::create("commands", 64));
    Ring<Event> events = std::move(*Ring<Event>::create("events", 64));
    std::optional<Shard> shard;
};

TEST(Connected, SendsWhatFitsADatagram) {
    ConnectedHost host;
    host.know_bob();
    host.from_kernel(ip_packet(right_ip, bob, 2024));
    EXPECT_EQ(host.to_bob().size(), 1U);
}

/// The kernel takes no packet from one of its own addresses.
TEST(Connected, TellsTheKernelInTheNeighboursNameWhatItTakes) {
    ConnectedHost host;
    host.know_bob();
    host.from_kernel(ip_packet(right_ip, bob, 4000));
    EXPECT_TRUE(host.to_bob().empty());
    ASSERT_EQ(host.kernel.sent.size(), 1U);
    const auto error = bytes_of(host.kernel.sent[0]);
    const auto ip = Ipv4::parse(error).value();
    EXPECT_EQ(ip.source, bob);
    EXPECT_EQ(ip.destination, right_ip);
    EXPECT_EQ(ip.protocol, wire::IpProtocol::icmp);
    EXPECT_EQ(wire::load8(error, Ipv4::size), 3U) << "destination unreachable";
    EXPECT_EQ(wire::load8(error, Ipv4::size + 1), 4U) << "fragmentation needed";
    EXPECT_EQ(wire::load16(error, Ipv4::size + 6), 2044U);
    EXPECT_EQ(shard_counter(*host.shard, "dropped_mtu", ""), 1U);
}

TEST(Connected, FragmentsWhatMayBe) {
    ConnectedHost host;
    host.know_bob();
    host.from_kernel(ip_packet(right_ip, bob, 5000, 64, false));
    const auto packets = host.to_bob();
    ASSERT_EQ(packets.size(), 3U);
    for (const auto& packet : packets) EXPECT_LE(packet.size(), 2044U);
    EXPECT_EQ(shard_counter(*host.shard, "fragmented_packets", ""), 1U);
}

TEST(Connected, TreatsThoseThatWaitedAlike) {
    ConnectedHost host;
    host.from_kernel(ip_packet(right_ip, bob, 5000, 64, false));
    EXPECT_TRUE(host.to_bob().empty());
    host.know_bob();
    EXPECT_EQ(host.to_bob().size(), 3U);
    host.command(ForgetNeighbour{ib_port, link::gid_of(bob)});
    host.from_kernel(ip_packet(right_ip, bob, 5000));
    host.poll();
    host.know_bob();
    EXPECT_TRUE(host.to_bob().empty());
    EXPECT_EQ(host.kernel.sent.size(), 1U) << "the kernel is told";
}

TEST(Connected, FragmentsBroadcasts) {
    ConnectedHost host;
    host.command(SetBroadcast{ib_port, ipoib::destination(own_end, {.dlid = wire::Lid{0xc000}, .global = true},
                                                          wire::multicast_qpn, wire::ether_type::ipv4)});
    EXPECT_TRUE(host.fib->replace({ipv4(10, 2, 0, 255), 32}, {NextHop::Kind::local, ib_port}));
    host.from_kernel(ip_packet(right_ip, ipv4(10, 2, 0, 255), 5000, 64, false));
    host.poll();
    EXPECT_EQ(host.device.sent.size(), 3U);
}

}  // namespace
}  // namespace verbline::router
