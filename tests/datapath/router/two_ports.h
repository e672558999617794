// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A gateway of one shard and two Ethernet ports, between Alice on its left and Bob on its right.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "datapath/link/flow_hash.h"
#include "datapath/link/ip_gid.h"
#include "datapath/router/shard.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"
#include "pmd/base/event_descriptor.h"
#include "pmd/trace/trace_ring.h"
#include "tests/datapath/router/shard_counter.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/fib_readers.h"
#include "tests/support/packet.h"

namespace verbline::router::two_ports {

using forward::NextHop;
using test::ByteVector, test::bytes_of;
using wire::ipv4, wire::Ipv4, wire::Ethernet;

constexpr InterfaceId left{0}, right{1};
constexpr wire::MacAddress mac(unsigned n) {
    return {{std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, static_cast<std::byte>(n)}};
}
constexpr auto left_mac = mac(1), right_mac = mac(2), alice_mac = mac(0xa), bob_mac = mac(0xb);
constexpr auto left_ip = ipv4(10, 1, 0, 1), right_ip = ipv4(10, 2, 0, 1);
constexpr auto alice = ipv4(10, 1, 0, 2), bob = ipv4(10, 2, 0, 2), carol = ipv4(10, 2, 0, 3),
               nobody = ipv4(192, 0, 2, 1);

inline ByteVector ip_packet(wire::Ipv4Address from, wire::Ipv4Address to, std::size_t payload = 100,
                            std::uint8_t ttl = 64, bool dont_fragment = true) {
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

inline ByteVector in_ethernet(wire::MacAddress to, const ByteVector& packet) {
    ByteVector frame(Ethernet::size + packet.size());
    Ethernet{.destination = to, .source = alice_mac, .type = wire::ether_type::ipv4}.emit(
        std::span(frame).first<Ethernet::size>());
    std::ranges::copy(packet, frame.begin() + Ethernet::size);
    return frame;
}

inline link::FrameFlowHash::Key flow_key() {
    link::FrameFlowHash::Key key;
    std::uint8_t next = 1;
    for (auto& byte : key) byte = next = static_cast<std::uint8_t>(next * 167 + 13);
    return key;
}

/// A gateway of two Ethernet ports: 10.1.0.0/24 left, 10.2.0.0/24 right.
struct Gateway {
    /// `options`: what both ports have besides. `kernel_offloads`: RTE_ETH_TX_OFFLOAD_* of their kernel interfaces.
    explicit Gateway(bool host = false, const PortSetup& options = {}, std::uint64_t kernel_offloads = 0) {
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
        for (auto* kernel : {&left_kernel, &right_kernel}) {
            kernel->capabilities().carries = pmd::Carries::ip;
            kernel->capabilities().tx_offloads = kernel_offloads;
        }
        shard.emplace(ShardSetup{
            .ports = {setup("left", left_link, left_kernel, 1500), setup("right", right_link, right_kernel, 1000)},
            .fib = fib.get(),
            .readers = readers.get(),
            .pool = test::packet_pool(),
            .flows = &flows,
            .commands = &commands,
            .events = &events,
            .wake_control = &wake,
            .deliver_all_to_kernel = host,
            .trace = trace.get()});
        command(SetEthernet{left, left_mac}), command(SetEthernet{right, right_mac});
        command(SetAddress{left, left_ip}), command(SetAddress{right, right_ip});
        command(SetNeighbour{left, link::gid_of(alice),
                             link::ethernet_destination(left_mac, alice_mac, wire::ether_type::ipv4)});
        poll();
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
    std::uint64_t counter(std::string_view wanted) const { return shard_counter(*shard, wanted); }

    test::FibReaders readers = test::fib_readers();
    link::FrameFlowHash flows{flow_key()};
    std::unique_ptr<forward::Fib> fib;
    test::FakeNetDevice left_link, right_link, left_kernel, right_kernel;
    Ring<Command> commands = std::move(*Ring<Command>::create("commands", 256));
    Ring<Event> events = std::move(*Ring<Event>::create("events", 256));
    EventDescriptor wake = EventDescriptor::make();
    std::unique_ptr<pmd::TraceRing> trace = std::make_unique<pmd::TraceRing>();
    std::optional<Shard> shard;
    Time now = 0;
};

/// The only packet that was sent on an Ethernet device, without its Ethernet header.
inline ByteVector only_packet(test::FakeNetDevice& device) {
    EXPECT_EQ(device.sent.size(), 1u);
    if (device.sent.empty()) return {};
    auto bytes = bytes_of(device.sent.front());
    device.sent.clear();
    bytes.erase(bytes.begin(), bytes.begin() + Ethernet::size);
    return bytes;
}

}  // namespace verbline::router::two_ports
