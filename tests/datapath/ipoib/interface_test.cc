// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/ipoib/interface.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "datapath/link/gid_table.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/grh.h"
#include "pmd/datagram_source.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/packet.h"

namespace verbline::ipoib {
namespace {

using test::bytes_of, test::make_packet, test::pattern;

constexpr pmd::MulticastAddress broadcast{.mlid = wire::Lid{0xc000}};
constexpr link::SourceAddress port(std::uint16_t lid, std::uint64_t guid) {
    return {.carrier = link::Carrier::soft_ib,
            .gid = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{guid}),
            .lid = wire::Lid{lid}};
}
constexpr Identity alice{.port = port(3, 0x100005), .qpn = wire::Qpn{0x48}, .qkey = wire::QKey{0xb1b}};
constexpr Identity bob{.port = port(4, 0x100008), .qpn = wire::Qpn{0x49}, .qkey = wire::QKey{0xb1b}};

link::Destination to_bob(wire::EtherType type = wire::ether_type::ipv4) {
    return destination(alice, {.dlid = bob.port.lid}, bob.qpn, type);
}

/// A port whose device is two queues.
struct Host {
    explicit Host(const Identity& port) : link(device, 0, *test::packet_pool()) {
        link.set_port(port);
        link.attach(broadcast);
    }

    std::map<std::string, std::uint64_t> counters() const {
        std::map<std::string, std::uint64_t> all;
        link.counters(
            [&](std::string_view name, std::uint64_t value, std::string_view) { all[std::string(name)] = value; });
        return all;
    }

    test::FakeNetDevice device;
    IpoibInterface link;
};

/// What `from` sent arrives at `to`.
link::Reception deliver(Host& from, Host& to) {
    from.link.flush();
    for (auto& frame : from.device.sent) to.device.to_receive.push_back(std::move(frame));
    from.device.sent.clear();
    link::Reception received;
    to.link.receive(received);
    return received;
}

TEST(IpoibInterface, CarriesAnIpPacketUnchanged) {
    Host a(alice), b(bob);
    a.link.transmit(make_packet(pattern(1000)).release(), to_bob());
    const auto received = deliver(a, b);
    ASSERT_EQ(received.ip_count, 1);
    const test::Packet packet(received.ip[0]);
    EXPECT_EQ(bytes_of(packet), pattern(1000));
}

TEST(IpoibInterface, TellsTheFamiliesApart) {
    Host a(alice), b(bob);
    a.link.transmit(make_packet(pattern(1000)).release(), to_bob(wire::ether_type::ipv6));
    const auto received = deliver(a, b);
    EXPECT_EQ(received.ip_count, 0);
    ASSERT_EQ(received.ipv6_count, 1);
    EXPECT_EQ(bytes_of(test::Packet(received.ipv6[0])), pattern(1000));
}

TEST(IpoibInterface, TellsWhoSent) {
    Host a(alice), b(bob);
    const auto to_group =
        destination(alice, {.dlid = broadcast.mlid, .global = true}, wire::multicast_qpn, wire::ether_type::ipv4);
    a.link.transmit(make_packet(pattern(100)).release(), to_bob());
    a.link.transmit(make_packet(pattern(101)).release(), to_group);
    a.link.transmit(make_packet(pattern(102)).release(), to_bob(wire::ether_type::ipv6));
    a.link.transmit(make_packet(pattern(56)).release(), to_bob(wire::ether_type::arp));
    a.link.flush();
    for (auto& frame : a.device.sent) b.device.to_receive.push_back(std::move(frame));
    a.device.sent.clear();
    link::Reception received;
    Origins origins;
    b.link.receive(received, origins);
    ASSERT_EQ(received.ip_count, 2);
    ASSERT_EQ(received.ipv6_count, 1);
    ASSERT_EQ(received.punt_count, 1);
    for (const auto& origin : {origins.ip[0], origins.ip[1], origins.ipv6[0], origins.punts[0]}) {
        EXPECT_EQ(origin.lid, alice.port.lid);
        EXPECT_EQ(origin.qpn, alice.qpn);
    }
    EXPECT_FALSE(origins.ip[0].to_group);
    EXPECT_TRUE(origins.ip[1].to_group);
    for (auto* packet : {received.ip[0], received.ip[1], received.ipv6[0], received.punts[0].packet})
        rte_pktmbuf_free(packet);
}

TEST(IpoibInterface, TellsOnRoceTheSendersMac) {
    constexpr wire::MacAddress mac{
        {std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{7}}};
    Identity carol{.port = {.carrier = link::Carrier::roce_v2_ipv6, .mac = mac, .gid = link::link_local_gid(mac)},
                   .qpn = wire::Qpn{0x51},
                   .qkey = wire::QKey{0xb1b}};
    Host a(carol), b(carol);
    a.link.transmit(make_packet(pattern(100)).release(), destination(carol, {.global = true, .dgid = carol.port.gid},
                                                                     carol.qpn, wire::ether_type::ipv4, mac));
    a.link.flush();
    b.device.to_receive.push_back(std::move(a.device.sent.at(0)));
    link::Reception received;
    Origins origins;
    b.link.receive(received, origins);
    ASSERT_EQ(received.ip_count, 1);
    const test::Packet packet(received.ip[0]);
    EXPECT_EQ(origins.ip[0], (Origin{.mac = mac, .qpn = carol.qpn}));
}

TEST(IpoibInterface, JoinsAChainIntoOneFrame) {
    Host a(alice), b(bob);
    a.link.transmit(make_packet(pattern(2044), 500).release(), to_bob());
    const auto received = deliver(a, b);
    ASSERT_EQ(received.ip_count, 1);
    EXPECT_EQ(bytes_of(test::Packet(received.ip[0])), pattern(2044));
}

TEST(IpoibInterface, PuntsArp) {
    Host a(alice), b(bob);
    a.link.transmit(make_packet(pattern(56)).release(), to_bob(wire::ether_type::arp));
    const auto received = deliver(a, b);
    ASSERT_EQ(received.punt_count, 1);
    EXPECT_EQ(received.punts[0].type, wire::ether_type::arp);
    EXPECT_EQ(bytes_of(test::Packet(received.punts[0].packet)), pattern(56));
}

TEST(IpoibInterface, ReachesEveryMemberOfTheBroadcastGroup) {
    Host a(alice), b(bob);
    const wire::AddressHandle group{.dlid = broadcast.mlid, .global = true, .dgid = bob.port.gid};
    a.link.transmit(make_packet(pattern(100)).release(),
                    destination(alice, group, wire::multicast_qpn, wire::ether_type::ipv4));
    const auto received = deliver(a, b);
    ASSERT_EQ(received.ip_count, 1);
    test::Packet(received.ip[0]).reset();
}

TEST(IpoibInterface, DropsByName) {
    Host a(alice), b(bob);
    const auto send = [&](const link::Destination& to) {
        a.link.transmit(make_packet(pattern(100)).release(), to);
        const auto received = deliver(a, b);
        EXPECT_EQ(received.ip_count + received.punt_count, 0);
    };
    auto stranger = alice;
    stranger.qkey = wire::QKey{1};
    send(destination(stranger, {.dlid = bob.port.lid}, bob.qpn, wire::ether_type::ipv4));
    send(destination(alice, {.dlid = bob.port.lid}, wire::Qpn{0x50}, wire::ether_type::ipv4));
    send(destination(alice, {.dlid = wire::Lid{9}}, bob.qpn, wire::ether_type::ipv4));
    send(to_bob(wire::ether_type::vlan));
    b.link.set_port(std::nullopt);
    send(to_bob());

    auto counters = b.counters();
    EXPECT_EQ(counters["rx_dropped_qkey"], 1u);
    EXPECT_EQ(counters["rx_dropped_qpn"], 1u);
    EXPECT_EQ(counters["rx_dropped_address"], 1u);
    EXPECT_EQ(counters["rx_dropped_ethertype"], 1u);
    EXPECT_EQ(counters["rx_dropped_down"], 1u);
    EXPECT_EQ(counters["rx_packets"], 0u);
}

TEST(IpoibInterface, SendsNothingWhileThePortIsDown) {
    Host a(alice);
    a.link.set_port(std::nullopt);
    a.link.transmit(make_packet(pattern(100)).release(), to_bob());
    a.link.flush();
    EXPECT_TRUE(a.device.sent.empty());
    EXPECT_EQ(a.counters()["tx_dropped_down"], 1u);
}

TEST(IpoibInterface, KeepsFramesThatTheDeviceDoesNotTakeYet) {
    Host a(alice), b(bob);
    a.device.tx_room = 0;
    a.link.transmit(make_packet(pattern(100)).release(), to_bob());
    a.link.flush();
    EXPECT_TRUE(a.link.congested());
    a.device.tx_room = 10;
    const auto received = deliver(a, b);
    EXPECT_FALSE(a.link.congested());
    ASSERT_EQ(received.ip_count, 1);
    test::Packet(received.ip[0]).reset();
}

/// Hardware that builds the InfiniBand headers itself.
struct Hca : test::FakeNetDevice {
    Hca() { capabilities().carries = pmd::Carries::datagram; }

    std::uint16_t send(std::uint16_t, std::span<const pmd::Datagram> burst) noexcept override {
        for (const auto& datagram : burst) {
            sent.emplace_back(datagram.payload);
            handles.push_back(*datagram.address);
            qpns.push_back(datagram.destination);
        }
        return static_cast<std::uint16_t>(burst.size());
    }

    std::vector<wire::AddressHandle> handles;
    std::vector<wire::Qpn> qpns;
};

TEST(IpoibInterface, LeavesTheHeadersToADeviceThatCarriesDatagrams) {
    Hca hca;
    IpoibInterface link(hca, 0, *test::packet_pool());
    link.set_port(alice);
    link.transmit(make_packet(pattern(100)).release(), to_bob());
    ASSERT_EQ(hca.sent.size(), 1u);
    EXPECT_EQ(hca.handles[0], (wire::AddressHandle{.dlid = bob.port.lid}));
    EXPECT_EQ(hca.qpns[0], bob.qpn);
    auto expected = test::bytes_from(0x08, 0x00, 0x00, 0x00);
    std::ranges::copy(pattern(100), std::back_inserter(expected));
    EXPECT_EQ(bytes_of(hca.sent[0]), expected);

    hca.to_receive.push_back(std::move(hca.sent[0]));
    link::Reception received;
    link.receive(received);
    ASSERT_EQ(received.ip_count, 1);
    EXPECT_EQ(bytes_of(test::Packet(received.ip[0])), pattern(100));
}

/// A datagram as an adapter hands it over, with a GRH in front of it or without.
struct Arrived {
    pmd::DatagramSource source;
    wire::Gid from{}, to{};
};
Origin origin_of(const Arrived& datagram) {
    Hca hca;
    IpoibInterface link(hca, 0, *test::packet_pool());
    link.set_port(alice);
    auto packet = make_packet(test::bytes_from(0x08, 0x00, 0x00, 0x00, 1, 2, 3, 4));
    pmd::set_datagram_source(*packet, datagram.source);
    std::array<std::byte, wire::Grh::size> header{};
    if (datagram.source.global) wire::Grh{.source = datagram.from, .destination = datagram.to}.emit(header);
    std::ranges::copy(header, rte_pktmbuf_mtod(packet.get(), std::byte*) - header.size());
    hca.to_receive.push_back(std::move(packet));
    link::Reception received;
    Origins origins;
    link.receive(received, origins);
    EXPECT_EQ(received.ip_count, 1);
    test::Packet(received.ip[0]).reset();
    return origins.ip[0];
}

TEST(IpoibInterface, TellsWhoSentADatagram) {
    constexpr wire::Lid lid{7};
    constexpr wire::Qpn qpn{0xff0012};
    constexpr wire::MacAddress mac{
        {std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{9}}};
    const auto group = wire::Gid::of(0xff12'401b'ffff'0000, wire::Guid{0xffff'ffff});
    EXPECT_EQ(origin_of({.source = {.lid = lid, .qpn = qpn}}), (Origin{.lid = lid, .qpn = qpn}));
    EXPECT_EQ(origin_of({.source = {.lid = lid, .qpn = qpn, .global = true}, .from = bob.port.gid, .to = group}),
              (Origin{.lid = lid, .qpn = qpn, .to_group = true}));
    EXPECT_EQ(
        origin_of({.source = {.qpn = qpn, .global = true}, .from = link::link_local_gid(mac), .to = alice.port.gid}),
        (Origin{.mac = mac, .qpn = qpn}))
        << "RoCE";
}

}  // namespace
}  // namespace verbline::ipoib
