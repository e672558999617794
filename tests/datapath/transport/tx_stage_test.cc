// SPDX-License-Identifier: BSD-3-Clause
// Where a frame goes: to the device, back to ourselves, or to another member of our node.
#include "datapath/transport/tx_stage.h"

#include <gtest/gtest.h>

#include "datapath/wire/ethernet.h"
#include "tests/datapath/link/frames.h"
#include "tests/support/fake_netdev.h"

namespace verbline::transport {
namespace {

using link::MemberId, test::our_mac, test::their_mac;

constexpr MemberId member{5}, other{6};

struct TxStageTo : ::testing::TestWithParam<test::Way> {
    void send(const wire::MacAddress& to, wire::Qpn qpn) {
        const auto envelope = link::make_envelope(GetParam().from, GetParam().to, to, 0xc000);
        const auto packet = stage.begin(envelope, wire::Bth::size);
        ASSERT_FALSE(packet.empty());
        wire::Bth{.dest = qpn}.emit(packet.first<wire::Bth::size>());
        stage.commit(envelope);
        stage.flush();
    }
    std::size_t looped() {
        const auto n = stage.loopback().size();
        rte_pktmbuf_free_bulk(stage.loopback().data(), static_cast<unsigned>(n));
        stage.loopback().clear();
        return n;
    }
    wire::Ethernet header() const { return wire::Ethernet::parse(test::bytes_of(device.sent.back())).value(); }

    test::FakeNetDevice device;
    RdmaCounters counters;
    TxStage stage{device, 0, *test::packet_pool(), counters};
};

TEST_P(TxStageTo, OurselvesIsLoopedBack) {
    stage.set_address(our_mac);
    send(our_mac, wire::Qpn{17});
    EXPECT_EQ(looped(), 1u);
    EXPECT_TRUE(device.sent.empty());
    send(their_mac, wire::Qpn{17});
    EXPECT_EQ(looped(), 0u);
    EXPECT_EQ(device.sent.size(), 1u);
}

TEST_P(TxStageTo, AMembersOwnQueuePairsIsLoopedBack) {
    stage.set_address(our_mac);
    stage.set_member(member);
    send(our_mac, wire::Qpn{link::first_qpn(member) + 17});
    EXPECT_EQ(looped(), 1u);
    EXPECT_TRUE(device.sent.empty());
}

TEST_P(TxStageTo, AnotherMemberGoesToTheDeviceUnderItsAddress) {
    stage.set_address(our_mac);
    stage.set_member(member);
    send(our_mac, wire::Qpn{link::first_qpn(other) + 17});
    EXPECT_EQ(looped(), 0u);
    ASSERT_EQ(device.sent.size(), 1u);
    EXPECT_EQ(header().destination, link::mac_of(other));
    EXPECT_EQ(header().source, link::mac_of(member));
    EXPECT_TRUE(test::open_frame(test::bytes_of(device.sent.back()))) << "the CRCs do not cover these addresses";
    send(our_mac, wire::Qpn{1});
    EXPECT_EQ(header().destination, link::mac_of(link::node_itself)) << "QP1 is the node's";
}

TEST_P(TxStageTo, AnotherHostGoesThereFromThePortsAddress) {
    stage.set_address(our_mac);
    stage.set_member(member);
    send(their_mac, wire::Qpn{link::first_qpn(member) + 17});
    ASSERT_EQ(device.sent.size(), 1u);
    EXPECT_EQ(header().destination, their_mac);
    EXPECT_EQ(header().source, our_mac);
}

std::vector<test::Way> roce_ways() {
    auto ways = test::ways();
    // On the soft fabric MAC addresses are made of LIDs; a node has no such port yet.
    std::erase_if(ways, [](const auto& way) { return way.from.carrier == link::Carrier::soft_ib; });
    return ways;
}

INSTANTIATE_TEST_SUITE_P(, TxStageTo, ::testing::ValuesIn(roce_ways()),
                         [](const auto& info) { return info.param.name; });

TEST(TxStage, OnTheFabricPacketsHaveThePortsLidAsItIs) {
    constexpr wire::Lid now{0x1234};
    const auto way = test::ways().back();
    ASSERT_EQ(way.from.carrier, link::Carrier::soft_ib);
    test::FakeNetDevice device;
    RdmaCounters counters;
    TxStage stage(device, 0, *test::packet_pool(), counters);
    const auto envelope = test::envelope_of(way);
    const auto source = [&] {
        wire::Bth{}.emit(stage.begin(envelope, wire::Bth::size).first<wire::Bth::size>());
        stage.commit(envelope);
        stage.flush();
        const auto bytes = test::bytes_of(device.sent.back());
        const auto arrival = test::open_frame(bytes);
        EXPECT_TRUE(arrival) << "the CRCs are of what is sent";
        EXPECT_EQ(link::source_mac(bytes), link::soft_ib::mac_of(link::source_lid(bytes, *arrival)));
        return link::source_lid(bytes, *arrival);
    };
    EXPECT_EQ(source(), way.from.lid);
    stage.set_source(now);
    EXPECT_EQ(source(), now);
}

TEST(TxStage, AMemberAcceptsThePortsAddressAndItsOwn) {
    test::FakeNetDevice device;
    RdmaCounters counters;
    TxStage stage(device, 0, *test::packet_pool(), counters);
    stage.set_address(our_mac);
    const auto to = [](const wire::MacAddress& mac) { return test::ByteVector(mac.bytes.begin(), mac.bytes.end()); };
    EXPECT_FALSE(stage.accepts(to(link::mac_of(member))));
    stage.set_member(member);
    EXPECT_TRUE(stage.accepts(to(our_mac)));
    EXPECT_TRUE(stage.accepts(to(link::mac_of(member))));
    EXPECT_FALSE(stage.accepts(to(link::mac_of(other))));
    EXPECT_FALSE(stage.accepts(to(their_mac)));
}

}  // namespace
}  // namespace verbline::transport
