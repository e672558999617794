// SPDX-License-Identifier: BSD-3-Clause
// Two devices on one network, and MADs between their general services; bad ones come from an ordinary queue pair.
#include "control/mad/gsi.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"
#include "tests/support/counter.h"
#include "tests/support/eal.h"
#include "tests/support/rdma_end.h"

namespace verbline::mad {
namespace {

struct Arrived {
    GmpPeer from;
    MadBuffer mad;
};

/// One end: general services and what has come to them.
struct Services {
    explicit Services(sim::Host& h, std::vector<wire::PKey> pkeys = {wire::PKey{0xffff}}) : host(h) {
        auto made = Gsi::create({.device = &h.device(),
                                 .pkeys = std::move(pkeys),
                                 .next_hop =
                                     [this](unsigned, const wire::Gid&) {
                                         ++asked;
                                         return next_hop;
                                     },
                                 .on_posted = [this] { ++posted; }});
        if (!made) throw std::runtime_error(made.error().what);
        gsi = std::move(*made);
        gsi->on_ready([this] { ++ready; });
        gsi->receive(wire::MadClass::communication, [this](std::span<const GmpArrival> burst) {
            bursts.push_back(burst.size());
            for (const auto& [from, header, mad] : burst) {
                EXPECT_EQ(header, wire::Mad::parse(mad));
                auto& last = arrived.emplace_back(from, MadBuffer{});
                std::ranges::copy(mad, last.mad.begin());
            }
        });
    }
    std::uint64_t counter(std::string_view name) const { return verbline::test::counter(*gsi, name); }

    sim::Host& host;
    std::unique_ptr<Gsi> gsi;
    std::vector<Arrived> arrived;
    std::vector<std::size_t> bursts;  ///< their sizes
    std::optional<wire::MacAddress> next_hop;
    unsigned ready = 0, posted = 0, asked = 0;
};

MadBuffer some_mad(unsigned number, wire::MadClass management_class = wire::MadClass::communication) {
    MadBuffer mad{};
    wire::Mad{.management_class = management_class,
              .method = wire::MadMethod::send,
              .transaction = number,
              .attribute = 0x0010}
        .emit(std::span(mad).first<wire::Mad::size>());
    test::fill(std::span(mad).subspan(wire::Mad::size));
    return mad;
}

class GsiTest : public testing::Test {
protected:
    GmpPeer to(const Services& from, const Services& other, unsigned gid_index) {
        return {.path = world.path(from.host, other.host, gid_index)};
    }
    void settle() { world.run_for(millisecond); }

    sim::World world{sim::Seed{1}, *test::packet_pool()};
    sim::Host& host_a = world.add_host();
    sim::Host& host_b = world.add_host();
};

/// GID index: RoCE v1, v2 over IPv4, v2 over IPv6.
class GsiOver : public GsiTest, public testing::WithParamInterface<unsigned> {};

TEST_P(GsiOver, RequestAndResponseByReversePath) {
    Services a(host_a), b(host_b);
    const auto request = some_mad(7), reply = some_mad(8);
    a.gsi->send(to(a, b, GetParam()), request);
    EXPECT_EQ(a.posted, 1u);
    settle();
    EXPECT_EQ(b.ready, 1u);
    ASSERT_EQ(b.gsi->drain(), 1u);
    ASSERT_EQ(b.arrived.size(), 1u);
    EXPECT_EQ(b.arrived[0].mad, request);
    const auto& from = b.arrived[0].from;
    EXPECT_EQ(from.path.gid_index, GetParam());
    EXPECT_TRUE(from.path.address.global);
    EXPECT_EQ(from.path.address.dgid, host_a.device().gids().at(GetParam())->gid);
    EXPECT_EQ(from.path.mac, host_a.mac());
    EXPECT_EQ(from.qpn, wire::gsi_qpn);
    EXPECT_EQ(from.qkey, wire::gsi_qkey);
    EXPECT_EQ(from.pkey, wire::PKey{0xffff});

    b.gsi->send(from, reply);
    settle();
    ASSERT_EQ(a.gsi->drain(), 1u);
    EXPECT_EQ(a.arrived.at(0).mad, reply);
    EXPECT_EQ(a.asked + b.asked, 0u) << "both had the MAC address";
}

INSTANTIATE_TEST_SUITE_P(Carriers, GsiOver, testing::Values(0u, 3u, 5u));

TEST_F(GsiTest, WithoutAMacAddressTheNextHopIsResolved) {
    Services a(host_a), b(host_b);
    auto there = to(a, b, 3);
    there.path.mac = {};
    a.gsi->send(there, some_mad(1));
    settle();
    EXPECT_EQ(b.gsi->drain(), 0u);
    EXPECT_EQ(a.counter("tx_dropped_no_next_hop"), 1u);
    a.next_hop = host_b.mac();
    a.gsi->send(there, some_mad(2));
    settle();
    EXPECT_EQ(b.gsi->drain(), 1u);
    EXPECT_EQ(a.asked, 2u);
}

TEST_F(GsiTest, ReachesItself) {
    Services a(host_a);
    a.gsi->send(to(a, a, 3), some_mad(1));
    settle();
    EXPECT_EQ(a.gsi->drain(), 1u);
    EXPECT_EQ(a.arrived.at(0).from.path.address.dgid, host_a.device().gids().at(3)->gid);
}

TEST_F(GsiTest, IsNotifiedOnceUntilDrained) {
    Services a(host_a), b(host_b);
    for (unsigned i = 0; i < 3; ++i) a.gsi->send(to(a, b, 3), some_mad(i)), settle();
    EXPECT_EQ(b.ready, 1u);
    EXPECT_EQ(b.gsi->drain(), 3u);
    a.gsi->send(to(a, b, 3), some_mad(4)), settle();
    EXPECT_EQ(b.ready, 2u);
    unsigned late = 0;
    b.gsi->on_ready([&] { ++late; });
    EXPECT_EQ(late, 1u) << "what waits already";
    b.gsi->on_ready({});
}

TEST_F(GsiTest, AFullQueueLosesAndGoesOn) {
    Services a(host_a), b(host_b);
    for (unsigned i = 0; i < Gsi::slots + 44; ++i) a.gsi->send(to(a, b, 3), some_mad(i));
    EXPECT_EQ(a.counter("tx_mads"), Gsi::slots);
    EXPECT_EQ(a.counter("tx_dropped_queue_full"), 44u);
    settle();
    EXPECT_EQ(b.gsi->drain(), Gsi::slots);
    b.gsi->drain();
    for (unsigned i = 0; i < Gsi::slots; ++i) a.gsi->send(to(a, b, i % 2 != 0 ? 3u : 5u), some_mad(1000 + i));
    settle();
    EXPECT_EQ(b.gsi->drain(), Gsi::slots) << "all buffers are there again";
    for (unsigned i = 0; i < Gsi::slots; ++i) {
        ASSERT_EQ(b.arrived.at(Gsi::slots + i).mad, some_mad(1000 + i));
        ASSERT_EQ(b.arrived[Gsi::slots + i].from.path.gid_index, i % 2 != 0 ? 3u : 5u);
    }
}

TEST_F(GsiTest, WhatHasArrivedIsHandedOverTogether) {
    Services a(host_a), b(host_b);
    std::size_t others = 0;
    b.gsi->receive(wire::MadClass::performance, [&](std::span<const GmpArrival> burst) { others += burst.size(); });
    for (unsigned i = 0; i < 12; ++i) {
        a.gsi->send(to(a, b, 3), some_mad(i, i == 5 ? wire::MadClass::performance : wire::MadClass::communication));
    }
    settle();
    EXPECT_EQ(b.gsi->drain(), 12u);
    EXPECT_EQ(b.bursts, (std::vector<std::size_t>{5, 6})) << "in their order, between those of other classes";
    EXPECT_EQ(others, 1u);
    for (unsigned i = 0; i < 11; ++i) EXPECT_EQ(b.arrived.at(i).mad, some_mad(i < 5 ? i : i + 1));
    b.gsi->receive(wire::MadClass::performance, {});
}

TEST_F(GsiTest, InvalidMadsAreDroppedAndCounted) {
    test::End a(host_a);
    Services b(host_b, {wire::PKey{0x8007}});
    a.make(transport::QueuePairType::ud);
    ASSERT_TRUE(a.pair->init({.pkey = wire::PKey{0x8007}, .qkey = wire::gsi_qkey}));
    ASSERT_TRUE(a.pair->ready_to_receive({.mtu = 1024}));
    ASSERT_TRUE(a.pair->ready_to_send({}));
    const auto outside = *host_a.device().envelope(world.path(host_a, host_b, 3), a.pair->qpn(), wire::gsi_qpn);
    const auto send = [&](const MadBuffer& mad, std::uint32_t length) {
        std::ranges::copy(mad, a.data.begin());
        const auto segment = a.segment(0, length);
        ASSERT_TRUE(a.pair->post(
            transport::SendRequest{.segments = {&segment, 1},
                                   .flags = transport::send_signalled,
                                   .ud = {.envelope = &outside, .qpn = wire::gsi_qpn, .qkey = wire::gsi_qkey}}));
        settle();
        b.gsi->drain();
    };
    send(some_mad(1), wire::mad_size - 4);
    send(some_mad(1), wire::mad_size + 4);
    EXPECT_EQ(b.counter("rx_dropped_bad_length"), 2u);
    auto other_version = some_mad(2);
    other_version[0] = std::byte{2};
    send(other_version, wire::mad_size);
    EXPECT_EQ(b.counter("rx_dropped_bad_version"), 1u);
    send(some_mad(3, wire::MadClass::performance), wire::mad_size);
    EXPECT_EQ(b.counter("rx_dropped_no_receiver"), 1u);
    EXPECT_TRUE(b.arrived.empty());
    send(some_mad(4), wire::mad_size);
    ASSERT_EQ(b.arrived.size(), 1u);
    EXPECT_EQ(b.arrived[0].from.qpn, a.pair->qpn());
    EXPECT_EQ(b.arrived[0].from.pkey, wire::PKey{0x8007});

    Services default_partition(host_a);
    default_partition.gsi->send(to(default_partition, b, 3), some_mad(5));
    settle();
    b.gsi->drain();
    EXPECT_EQ(b.counter("rx_dropped_bad_pkey"), 1u);
    auto ours = to(default_partition, b, 3);
    ours.pkey = wire::PKey{0x0007};
    default_partition.gsi->send(ours, some_mad(6));
    settle();
    b.gsi->drain();
    EXPECT_EQ(b.arrived.size(), 2u) << "the partition that the peer was given with";
}

TEST_F(GsiTest, PartitionsAreThoseOfTheTableAsItIs) {
    Services a(host_a), b(host_b);
    const auto arrives = [&](std::uint64_t number) {
        a.gsi->send(to(a, b, 3), some_mad(number));
        settle();
        b.gsi->drain();
        return b.arrived.size();
    };
    EXPECT_EQ(arrives(1), 1u);
    b.gsi->set_pkeys({wire::PKey{0x8007}});
    EXPECT_EQ(arrives(2), 1u);
    EXPECT_EQ(b.counter("rx_dropped_bad_pkey"), 1u);
    b.gsi->set_pkeys({wire::PKey{0x8007}, wire::PKey{0x7fff}});
    EXPECT_EQ(arrives(3), 2u);
}

TEST_F(GsiTest, SecondGsiOfADeviceIsBusy) {
    Services a(host_a);
    EXPECT_EQ(Gsi::create({.device = &host_a.device()}).error().code, EBUSY);
}

TEST_F(GsiTest, DropsMadsToAForeignGid) {
    Services a(host_a), b(host_b);
    auto there = to(a, b, 3);
    there.path.gid_index = 99;
    a.gsi->send(there, some_mad(1));
    EXPECT_EQ(a.counter("tx_errors"), 1u);
    there = to(a, b, 3);
    there.path.address.dgid = link::gid_of(wire::ipv4(10, 0, 0, 99));
    a.gsi->send(there, some_mad(2));
    settle();
    b.gsi->drain();
    EXPECT_EQ(b.counter("rx_dropped_not_ours"), 1u);
}

}  // namespace
}  // namespace verbline::mad
