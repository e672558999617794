// SPDX-License-Identifier: BSD-3-Clause
// General services as they look on the wire, and over the soft fabric, where LIDs are enough.
#include <gtest/gtest.h>

#include "control/mad/gsi.h"
#include "datapath/link/arrival.h"
#include "datapath/link/ip_gid.h"
#include "datapath/link/soft_ib.h"
#include "datapath/wire/bth.h"
#include "tests/support/eal.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/link_frame.h"

namespace verbline::mad {
namespace {

/// A device with general services on a link that the test carries frames over.
struct Station {
    Station(const char* name, link::GidTable::Kind kind, std::uint8_t number) : link(name), mac{{std::byte{2}}} {
        mac.bytes[5] = std::byte{number};
        link.capabilities().max_packet = 2100;
        const bool ib = kind == link::GidTable::Kind::ib;
        device = std::move(*rdma::Device::create({.name = name,
                                                  .device = &link,
                                                  .pool = test::packet_pool(),
                                                  .kind = kind,
                                                  .mac = mac,
                                                  .lid = lid(number)}));
        device->change_gids([&](link::GidTable& gids) {
            gids.add_interface(1, mac);
            gids.add_address(1, ib ? fabric_gid(number) : link::gid_of(wire::ipv4(10, 0, 0, number)));
        });
        services = Gsi::create({.device = device.get(), .pkeys = {wire::PKey{0xffff}}}).value();
        services->receive(wire::MadClass::communication, [this](std::span<const GmpArrival> burst) {
            for (const auto& each : burst) arrived.push_back(each.from);
        });
    }
    static wire::Lid lid(std::uint8_t number) { return wire::Lid{number}; }
    static wire::Gid fabric_gid(std::uint8_t number) {
        return wire::Gid::of(wire::default_subnet_prefix, wire::Guid{number});
    }
    void poll() {
        while (device->poll(0, ++now)) {}
    }

    test::FakeNetDevice link;
    wire::MacAddress mac;
    std::unique_ptr<rdma::Device> device;
    std::unique_ptr<Gsi> services;
    std::vector<GmpPeer> arrived;
    Time now = 0;
};

MadBuffer some_mad() {
    MadBuffer mad{};
    wire::Mad{.management_class = wire::MadClass::communication}.emit(std::span(mad).first<wire::Mad::size>());
    return mad;
}

void carry(Station& from, Station& to) {
    from.poll();
    for (const auto& packet : std::exchange(from.link.sent, {})) to.link.receive(test::bytes_of(packet));
    to.poll();
    to.services->drain();
}

TEST(GsiOnTheWire, MatchesFramesOfTheKernel) {
    Station a("gsi-a", link::GidTable::Kind::roce, 1);
    const wire::MacAddress there{{std::byte{2}, {}, {}, {}, {}, std::byte{2}}};
    const GmpPeer peer{
        .path = {.gid_index = 3,
                 .address = {.global = true, .dgid = link::gid_of(wire::ipv4(10, 0, 0, 2)), .hop_limit = 64},
                 .mac = there}};
    for (std::uint32_t psn = 0; psn < 3; ++psn) {
        a.services->send(peer, some_mad());
        a.poll();
        ASSERT_EQ(a.link.sent.size(), 1u);
        const auto frame = test::bytes_of(a.link.sent.front());
        a.link.sent.clear();
        ASSERT_EQ(frame.size(), 14u + 20 + 8 + 12 + 8 + 256 + 4);
        const auto arrival = test::open_frame(frame);
        ASSERT_TRUE(arrival);
        const auto packet = wire::Bytes(frame).subspan(arrival->bth_at);
        const auto bth = wire::Bth::parse(packet);
        ASSERT_TRUE(bth);
        EXPECT_EQ(bth->opcode, 0x64) << "UD SEND ONLY";
        EXPECT_EQ(bth->pkey, wire::PKey{0xffff});
        EXPECT_EQ(bth->dest, wire::gsi_qpn);
        EXPECT_EQ(bth->psn, wire::Psn(psn));
        EXPECT_EQ(bth->pad, 0);
        EXPECT_EQ(*wire::Deth::parse(packet.subspan(wire::Bth::size)),
                  (wire::Deth{.qkey = wire::gsi_qkey, .source = wire::gsi_qpn}));
        EXPECT_GE(wire::load16(frame, 34), 0xc000) << "the source port of RoCE v2";
    }
}

TEST(GsiOnTheWire, OverTheSoftFabricLidsAreEnough) {
    Station a("gsi-c", link::GidTable::Kind::ib, 1), b("gsi-d", link::GidTable::Kind::ib, 2);
    a.services->send({.path = {.address = {.dlid = Station::lid(2), .sl = 3}}}, some_mad());
    carry(a, b);
    ASSERT_EQ(b.arrived.size(), 1u);
    EXPECT_EQ(b.arrived[0].path.address, (wire::AddressHandle{.dlid = Station::lid(1), .sl = 3}));
    EXPECT_EQ(b.arrived[0].path.mac, wire::MacAddress{});
    b.services->send(b.arrived[0], some_mad());
    carry(b, a);
    EXPECT_EQ(a.arrived.size(), 1u);
}

TEST(GsiOnTheWire, OverTheSoftFabricWithAGrh) {
    Station a("gsi-e", link::GidTable::Kind::ib, 1), b("gsi-f", link::GidTable::Kind::ib, 2);
    a.services->send({.path = {.address = {.dlid = Station::lid(2),
                                           .global = true,
                                           .dgid = Station::fabric_gid(2),
                                           .hop_limit = 1,
                                           .flow_label = 5}}},
                     some_mad());
    carry(a, b);
    ASSERT_EQ(b.arrived.size(), 1u);
    const auto& back = b.arrived[0].path;
    EXPECT_EQ(back.gid_index, 0u);
    EXPECT_TRUE(back.address.global);
    EXPECT_EQ(back.address.dlid, Station::lid(1));
    EXPECT_EQ(back.address.dgid, Station::fabric_gid(1));
    EXPECT_EQ(back.address.flow_label, 5u);
    b.services->send(b.arrived[0], some_mad());
    carry(b, a);
    EXPECT_EQ(a.arrived.size(), 1u);
}

}  // namespace
}  // namespace verbline::mad
