// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/ipoib/flow_port.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/types.h"

namespace verbline::ipoib {
namespace {

/// An IPv4 packet with ports, of which only what tells its flow is there.
std::vector<std::byte> packet(wire::IpProtocol protocol, wire::Ipv4Address to, std::uint16_t port,
                              std::uint16_t fragment = 0) {
    std::vector<std::byte> bytes(40);
    wire::Ipv4{.protocol = protocol, .source = wire::ipv4(10, 1, 0, 2), .destination = to}.emit(
        std::span(bytes).first<wire::Ipv4::size>());
    wire::store16(bytes, 6, fragment);
    wire::store16(bytes, 20, port);
    wire::store16(bytes, 22, 5201);
    return bytes;
}
constexpr auto peer = wire::ipv4(10, 3, 0, 2);

TEST(FlowPort, DependsOnAddressesAndPorts) {
    using enum wire::IpProtocol;
    const auto flow = packet(tcp, peer, 40000);
    EXPECT_EQ(flow_port(flow), flow_port(packet(tcp, peer, 40000)));
    EXPECT_NE(flow_port(flow), flow_port(packet(tcp, peer, 40001)));
    EXPECT_NE(flow_port(flow), flow_port(packet(tcp, wire::ipv4(10, 3, 0, 3), 40000)));
    EXPECT_EQ(flow_port(packet(icmp, peer, 1)), flow_port(packet(icmp, peer, 2))) << "without ports: by address";
}

TEST(FlowPort, FragmentsOfAPacketStayTogether) {
    constexpr std::uint16_t more = 0x2000, last = 0x00b9;
    const auto first = flow_port(packet(wire::IpProtocol::udp, peer, 40000, more));
    EXPECT_EQ(first, flow_port(packet(wire::IpProtocol::udp, peer, 7, last)));
}

TEST(FlowPort, SpreadsFlowsOfIpv6) {
    std::set<std::uint16_t> ports;
    std::vector<std::byte> packet(60);
    wire::Ipv6{.payload_length = 20, .next_header = wire::IpProtocol::tcp}.emit(
        std::span(packet).first<wire::Ipv6::size>());
    for (std::uint16_t n = 0; n < 1000; ++n) {
        wire::store16(packet, n % 2 == 0 ? 38 : 40, n);  // the end of the destination's address; the source port
        ports.insert(flow_port(packet));
    }
    EXPECT_GT(ports.size(), 900u);
}

TEST(FlowPort, SpreadsFlows) {
    std::set<std::uint16_t> ports;
    for (std::uint16_t n = 0; n < 1000; ++n) ports.insert(flow_port(packet(wire::IpProtocol::tcp, peer, 32768 + n)));
    EXPECT_GT(ports.size(), 900u);
    EXPECT_GE(*ports.begin(), 0xc000);
}

TEST(FlowPort, ReadsNoFurtherThanThereIs) {
    const auto flow = packet(wire::IpProtocol::tcp, peer, 40000);
    for (std::size_t size = 0; size < flow.size(); ++size) {
        const std::vector cut(flow.begin(), flow.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_GE(flow_port(cut), 0xc000);
    }
}

}  // namespace
}  // namespace verbline::ipoib
