// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A shard between two Ethernet links of IPv6 hosts.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/router/shard.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/icmpv6.h"
#include "datapath/wire/ipv6.h"
#include "pmd/base/event_descriptor.h"
#include "tests/datapath/router/shard_counter.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/fib_readers.h"
#include "tests/support/ipv6.h"
#include "tests/support/packet.h"

namespace verbline::router::over_ipv6 {

using forward::NextHopKind;
using test::ByteVector, test::bytes_of;
using test::ipv6, test::ipv6_prefix;
using wire::Ethernet, wire::Ipv6, wire::Ipv6Address;

inline constexpr InterfaceId left{0}, right{1};
constexpr wire::MacAddress mac(unsigned n) {
    return {{std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, static_cast<std::byte>(n)}};
}
inline constexpr auto left_mac = mac(1), right_mac = mac(2), alice_mac = mac(0xa), bob_mac = mac(0xb);
inline const auto left_ip = ipv6("fd76:1::1"), right_ip = ipv6("fd76:2::1"), left_local = ipv6("fe80::1");
inline const auto alice = ipv6("fd76:1::2"), bob = ipv6("fd76:2::2"), carol = ipv6("fe80::c");

inline ByteVector ip_packet(const Ipv6Address& from, const Ipv6Address& to, std::size_t payload = 100,
                            std::uint8_t hops = 64, wire::IpProtocol next = wire::IpProtocol::udp,
                            unsigned first_byte = 0) {
    ByteVector packet = test::pattern(Ipv6::size + payload);
    Ipv6{.payload_length = static_cast<std::uint16_t>(payload),
         .next_header = next,
         .hop_limit = hops,
         .source = from,
         .destination = to}
        .emit(std::span(packet).first<Ipv6::size>());
    packet[Ipv6::size] = static_cast<std::byte>(first_byte);
    return packet;
}

/// A gateway of two Ethernet ports: fd76:1::/64 left, fd76:2::/64 right.
struct Gateway {
    /// `options`: what both ports have besides.
    explicit Gateway(bool host = false, const PortSetup& options = {}) {
        fib = *forward::Fib::create({.max_routes = 64, .max_long = 64}, *readers);
        ipv6_fib = *forward::Ipv6Fib::create({.max_routes = 64, .max_long = 256}, *readers);
        EXPECT_TRUE(ipv6_fib->replace(ipv6_prefix("fd76:1::/64"), {NextHopKind::on_link, left}));
        EXPECT_TRUE(ipv6_fib->replace(ipv6_prefix("fd76:2::/64"), {NextHopKind::on_link, right}));
        EXPECT_TRUE(ipv6_fib->replace(ipv6_prefix("fd76:3::/32"), {NextHopKind::via, right, carol}));
        EXPECT_TRUE(ipv6_fib->replace(ipv6_prefix("fe80::/64"), {NextHopKind::on_link, right}));
        EXPECT_TRUE(ipv6_fib->replace({left_ip, 128}, {NextHopKind::local, left}));
        EXPECT_TRUE(ipv6_fib->replace({left_local, 128}, {NextHopKind::local, left}));
        const auto setup = [&options](std::string name, auto& link, auto& kernel, std::uint32_t mtu) {
            auto port = options;
            port.name = std::move(name), port.device = &link, port.kernel = &kernel, port.mtu = mtu;
            return port;
        };
        for (auto* kernel : {&left_kernel, &right_kernel}) kernel->capabilities().carries = pmd::Carries::ip;
        shard.emplace(ShardSetup{
            .ports = {setup("left", left_link, left_kernel, 1500), setup("right", right_link, right_kernel, 1280)},
            .fib = fib.get(),
            .ipv6_fib = ipv6_fib.get(),
            .readers = readers.get(),
            .pool = test::packet_pool(),
            .commands = &commands,
            .events = &events,
            .wake_control = &wake,
            .deliver_all_to_kernel = host});
        command(SetEthernet{left, left_mac}), command(SetEthernet{right, right_mac});
        command(SetAddress{.port = left, .ipv6 = left_ip, .link_local = left_local});
        command(SetAddress{.port = right, .ipv6 = right_ip});
        set_neighbour(left, alice, alice_mac);
    }

    void command(const Command& c) { ASSERT_TRUE(commands.push(c)); }
    void set_neighbour(InterfaceId port, const Ipv6Address& who, wire::MacAddress where) {
        const auto from = port == left ? left_mac : right_mac;
        command(SetNeighbour{port, link::gid_of(who), link::ethernet_destination(from, where, wire::ether_type::ipv6)});
        shard->poll(now);
    }
    void from_alice(const ByteVector& packet) { from_alice(std::span(&packet, 1)); }
    /// In one burst.
    void from_alice(std::span<const ByteVector> packets) {
        for (const auto& packet : packets) {
            ByteVector frame(Ethernet::size + packet.size());
            Ethernet{.destination = left_mac, .source = alice_mac, .type = wire::ether_type::ipv6}.emit(
                std::span(frame).first<Ethernet::size>());
            std::ranges::copy(packet, frame.begin() + Ethernet::size);
            left_link.receive(frame);
        }
        shard->poll(now);
    }
    void from_right_kernel(const ByteVector& packet) {
        right_kernel.receive(packet);
        shard->poll(now);
    }
    std::uint64_t counter(std::string_view wanted) const { return shard_counter(*shard, wanted); }

    test::FibReaders readers = test::fib_readers();
    std::unique_ptr<forward::Fib> fib;
    std::unique_ptr<forward::Ipv6Fib> ipv6_fib;
    test::FakeNetDevice left_link, right_link, left_kernel, right_kernel;
    Ring<Command> commands = std::move(*Ring<Command>::create("commands", 256));
    Ring<Event> events = std::move(*Ring<Event>::create("events", 256));
    EventDescriptor wake = EventDescriptor::make();
    std::optional<Shard> shard;
    Time now = 0;
};

/// The only frame that was sent.
inline ByteVector only_frame(test::FakeNetDevice& device) {
    EXPECT_EQ(device.sent.size(), 1u);
    if (device.sent.empty()) return ByteVector(Ethernet::size + Ipv6::size + wire::Icmpv6::size);
    auto bytes = bytes_of(device.sent.front());
    device.sent.clear();
    return bytes;
}
inline ByteVector only_packet(test::FakeNetDevice& device) {
    auto bytes = only_frame(device);
    bytes.erase(bytes.begin(), bytes.begin() + Ethernet::size);
    return bytes;
}

}  // namespace verbline::router::over_ipv6
