// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/transport_channel.h"

#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/fake_transport.h"

namespace verbline::mad {
namespace {

GmpPeer at(wire::Lid lid) {
    return {.path = {.address = {.dlid = lid, .sl = 3}, .mac = {}}};
}

struct TransportChannelTest : testing::Test {
    void run() { loop->run_once(0); }

    std::unique_ptr<control::Loop> loop = *control::Loop::create();
    test::FakeTransport transport{
        {.lid = wire::Lid{3}, .pkeys = {wire::PKey{0x7fff}, wire::PKey{0x8005}}, .qpn = wire::Qpn{0x1000}}};
    std::unique_ptr<TransportChannel> channel = std::make_unique<TransportChannel>(transport, *loop);
};

TEST_F(TransportChannelTest, SendsOnTheLoopInOrderWhoeverAsks) {
    MadBuffer mad{};
    auto to = at(wire::Lid{7});
    to.pkey = wire::PKey{0x8005};
    std::jthread([&] {
        for (std::uint8_t i = 0; i < 3; ++i) mad[9] = std::byte{i}, channel->send(to, mad);
    }).join();
    EXPECT_TRUE(transport.sent.empty());
    run();
    ASSERT_EQ(transport.sent.size(), 3u);
    for (std::uint8_t i = 0; i < 3; ++i) EXPECT_EQ(transport.sent[i].mad[9], std::byte{i});
    EXPECT_EQ(transport.sent[0].to, (Address{.lid = wire::Lid{7}, .qpn = wire::Qpn{0x1000}, .sl = 3, .pkey_index = 1}))
        << "general services there have the number that ours have";
    to.qpn = wire::Qpn{0x42};  // a redirect
    channel->send(to, mad);
    run();
    EXPECT_EQ(transport.sent[3].to.qpn, wire::Qpn{0x42});
}

TEST_F(TransportChannelTest, WhatCannotBeSentIsCounted) {
    channel->send(at(wire::Lid{}), MadBuffer{});
    channel->send(at(wire::permissive_lid), MadBuffer{});
    auto elsewhere = at(wire::Lid{7});
    elsewhere.pkey = wire::PKey{0x8006};
    channel->send(elsewhere, MadBuffer{});
    run();
    EXPECT_TRUE(transport.sent.empty());
    EXPECT_EQ(channel->counters().tx_dropped_no_lid.value(), 2u);
    EXPECT_EQ(channel->counters().tx_dropped_pkey.value(), 1u);
}

TEST_F(TransportChannelTest, WhatIsReceivedNamesTheWayBack) {
    std::vector<GmpPeer> arrived;
    channel->receive(wire::MadClass::communication, [&](std::span<const GmpArrival> burst) {
        for (const auto& each : burst) arrived.push_back(each.from);
    });
    MadBuffer mad{};
    wire::Mad{.management_class = wire::MadClass::communication}.emit(std::span(mad).first<wire::Mad::size>());
    const Address from{.lid = wire::Lid{9}, .qpn = wire::Qpn{0x1003}, .sl = 2, .pkey_index = 1};
    transport.deliver(0, from, mad);
    ASSERT_EQ(arrived.size(), 1u);
    EXPECT_FALSE(arrived[0].path.address.global);
    EXPECT_EQ(arrived[0].pkey, wire::PKey{0x8005});
    channel->send(arrived[0], mad);
    run();
    EXPECT_EQ(transport.sent.at(0).to, from);
    transport.deliver(0, {.lid = wire::Lid{9}, .pkey_index = 2}, mad);
    EXPECT_EQ(channel->counters().rx_dropped_bad_pkey.value(), 1u);
}

TEST_F(TransportChannelTest, ItsEndTakesBackItsReceivers) {
    unsigned received = 0;
    channel->receive(wire::MadClass::communication, [&](std::span<const GmpArrival>) { ++received; });
    channel->send(at(wire::Lid{7}), MadBuffer{});
    channel.reset();
    run();
    EXPECT_TRUE(transport.sent.empty()) << "what still waited is lost";
    MadBuffer mad{};
    wire::Mad{.management_class = wire::MadClass::communication}.emit(std::span(mad).first<wire::Mad::size>());
    transport.deliver(0, {.lid = wire::Lid{9}}, mad);
    EXPECT_EQ(received, 0u);
}

}  // namespace
}  // namespace verbline::mad
