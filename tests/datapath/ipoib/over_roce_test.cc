// SPDX-License-Identifier: BSD-3-Clause
// The interface on RoCE carriers; what is common to all is in interface_test.cc.
#include <gtest/gtest.h>

#include "datapath/ipoib/flow_port.h"
#include "datapath/ipoib/interface.h"
#include "datapath/link/arrival.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/udp.h"
#include "tests/datapath/link/frames.h"
#include "tests/support/counter.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/link_frame.h"

namespace verbline::ipoib {
namespace {

using link::Carrier, test::bytes_of, test::make_packet, test::pattern;

class OverRoce : public testing::TestWithParam<test::Way> {
protected:
    OverRoce() {
        a.set_port(alice());
        b.set_port(bob());
        b.attach({.mgid = group().dgid});
    }

    Identity alice() const { return {.port = GetParam().from, .qpn = wire::Qpn{0x48}, .qkey = wire::QKey{0xb1b}}; }
    Identity bob() const {
        auto port = GetParam().from;
        port.mac = test::their_mac, port.gid = GetParam().to.dgid;
        return {.port = port, .qpn = wire::Qpn{0x49}, .qkey = wire::QKey{0xb1b}};
    }
    wire::AddressHandle group() const {
        const bool ipv4 = GetParam().from.carrier == Carrier::roce_v2_ipv4;
        return {.global = true,
                .dgid = ipv4 ? link::gid_of(wire::ipv4(239, 1, 2, 3)) : wire::Gid{{std::byte{0xff}, std::byte{0x12}}}};
    }
    link::Destination to_bob() const {
        return destination(alice(), GetParam().to, bob().qpn, wire::ether_type::ipv4, test::their_mac);
    }
    /// The frame of an IP packet.
    test::ByteVector send(std::span<const std::byte> packet, const link::Destination& to) {
        a.transmit(make_packet(packet).release(), to);
        a.flush();
        const auto frame = bytes_of(device_a.sent.front());
        device_a.sent.clear();
        return frame;
    }
    link::Reception receive(std::span<const std::byte> frame) {
        device_b.receive(frame);
        link::Reception out;
        b.receive(out);
        return out;
    }

    test::FakeNetDevice device_a, device_b;
    IpoibInterface a{device_a, 0, *test::packet_pool()}, b{device_b, 0, *test::packet_pool()};
};

std::vector<test::Way> roce() {
    auto all = test::ways();
    std::erase_if(all, [](const test::Way& way) { return way.from.carrier == Carrier::soft_ib || way.from.vlan; });
    return all;
}
INSTANTIATE_TEST_SUITE_P(Carriers, OverRoce, testing::ValuesIn(roce()), [](const auto& way) { return way.param.name; });

TEST_P(OverRoce, CarriesIpPacketsUnchanged) {
    for (const std::size_t size : {20, 21, 1020, 2044}) {
        const auto received = receive(send(pattern(size), to_bob()));
        ASSERT_EQ(received.ip_count, 1) << size;
        EXPECT_EQ(bytes_of(test::Packet(received.ip[0])), pattern(size));
    }
}

TEST_P(OverRoce, GroupsReachTheirMembers) {
    const auto frame = send(pattern(100), destination(alice(), group(), wire::multicast_qpn, wire::ether_type::ipv4));
    EXPECT_EQ(wire::Ethernet::parse(frame)->destination, link::multicast_mac(GetParam().from.carrier, group().dgid));
    const auto received = receive(frame);
    ASSERT_EQ(received.ip_count, 1);
    test::Packet(received.ip[0]).reset();
    b.detach({.mgid = group().dgid});
    EXPECT_EQ(receive(frame).ip_count, 0);
    EXPECT_EQ(test::counter(b, "rx_dropped_multicast"), 1u);
}

TEST_P(OverRoce, OtherTrafficOfTheLinkIsForeign) {
    auto frame = send(pattern(100), to_bob());
    wire::store16(frame, 12, 0x0806);
    EXPECT_EQ(receive(frame).ip_count, 0);
    EXPECT_EQ(test::counter(b, "rx_dropped_foreign"), 1u);
}

TEST_P(OverRoce, DamageIsTheIcrcs) {
    auto frame = send(pattern(100), to_bob());
    frame[frame.size() - 10] ^= std::byte{1};
    EXPECT_EQ(receive(frame).ip_count, 0);
    EXPECT_EQ(test::counter(b, "rx_dropped_icrc"), 1u);
}

TEST_P(OverRoce, WorkOnTheOuterHeadersIsNotTheInnerPackets) {
    auto frame = make_packet(send(pattern(1000), to_bob()));
    frame->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM |  // from a kernel's tap
                      RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;               // from a NIC
    frame->l2_len = wire::Ethernet::size, frame->l3_len = 20, frame->l4_len = 8;
    device_b.to_receive.push_back(std::move(frame));
    link::Reception out;
    b.receive(out);
    ASSERT_EQ(out.ip_count, 1);
    const test::Packet packet(out.ip[0]);
    EXPECT_EQ(packet->ol_flags, 0U);
    EXPECT_EQ(bytes_of(packet), pattern(1000));
}

TEST_P(OverRoce, TheUdpSourcePortIsTheFlows) {
    if (GetParam().from.carrier == Carrier::roce_v1) return;
    std::vector<std::byte> packet(60);
    wire::Ipv4{.source = wire::ipv4(10, 1, 0, 2), .destination = wire::ipv4(10, 3, 0, 2)}.emit(
        std::span(packet).first<wire::Ipv4::size>());
    const auto frame = send(packet, to_bob());
    const auto arrival = test::open_frame(frame);
    ASSERT_TRUE(arrival) << "the ICRC covers the port";
    EXPECT_EQ(wire::load16(frame, arrival->bth_at - wire::Udp::size), flow_port(packet));
}

}  // namespace
}  // namespace verbline::ipoib
