// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/vlan/trunk.h"

#include <array>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datapath/wire/ethernet.h"
#include "pmd/base/event_descriptor.h"
#include "tests/support/counter.h"
#include "tests/support/fake_netdev.h"

namespace verbline::pmd::vlan {
namespace {

using test::ByteVector, test::counter;
using testing::ElementsAre, testing::IsEmpty;

constexpr wire::MacAddress mac(unsigned n) {
    return {{std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, static_cast<std::byte>(n)}};
}

/// A frame whose payload is one number; tagged, if `id` is not 0.
ByteVector frame(unsigned number, std::uint16_t id = 0) {
    ByteVector bytes(wire::Ethernet::size + (id != 0 ? wire::Vlan::size : 0) + 1);
    wire::Ethernet{
        .destination = mac(1), .source = mac(2), .type = id != 0 ? wire::ether_type::vlan : wire::ether_type::ipv4}
        .emit(std::span(bytes).first<wire::Ethernet::size>());
    if (id != 0)
        wire::Vlan{.id = id, .type = wire::ether_type::ipv4}.emit(
            std::span(bytes).subspan<wire::Ethernet::size, wire::Vlan::size>());
    bytes.back() = static_cast<std::byte>(number);
    return bytes;
}

/// A device that counts how often its receive event was wanted, and has one.
struct Link : test::FakeNetDevice {
    int rx_event(std::uint16_t) const noexcept override { return event.get(); }
    void want_rx_event(std::uint16_t, bool on) noexcept override { wanted += on ? 1 : -1; }
    EventDescriptor event = EventDescriptor::make();
    int wanted = 0;
};

class VlanTrunk : public testing::Test {
protected:
    VlanTrunk() {
        auto owned = std::make_unique<Link>();
        link = owned.get();
        const auto trunk = Trunk::create(std::move(owned), mac(1));
        for (const std::uint16_t id : {0, 100, 200}) ports.push_back(trunk->port(Id{id}));
    }
    /// The numbers of what a port receives in one burst.
    std::vector<unsigned> receive(std::size_t port, std::size_t room = max_burst) {
        std::array<rte_mbuf*, max_burst> burst;
        const auto n = ports[port]->rx_burst(0, Burst(burst).first(room));
        std::vector<unsigned> numbers;
        for (auto* each : Burst(burst).first(n)) {
            const test::Packet packet(each);
            EXPECT_EQ(packet->pkt_len, wire::Ethernet::size + 1) << "without a tag";
            numbers.push_back(std::to_integer<unsigned>(test::bytes_of(packet).back()));
        }
        return numbers;
    }
    std::uint16_t send(std::size_t port, std::initializer_list<unsigned> numbers) {
        std::vector<rte_mbuf*> burst;
        for (const auto number : numbers) burst.push_back(test::make_packet(frame(number)).release());
        const auto sent = ports[port]->tx_burst(0, burst);
        for (auto* each : std::span(burst).subspan(sent)) {
            const test::Packet packet(each);
            EXPECT_EQ(packet->pkt_len, wire::Ethernet::size + 1) << "what was not taken is as it was";
        }
        return sent;
    }

    Link* link = nullptr;
    std::vector<std::unique_ptr<NetDevice>> ports;
};

TEST_F(VlanTrunk, EveryPortIsWhereTheDeviceIs) {
    link->socket = 1;
    for (const auto& port : ports) EXPECT_EQ(port->numa_socket(), 1);
}

TEST_F(VlanTrunk, GivesEachPortTheFramesOfItsVlan) {
    for (const auto& each : {frame(1), frame(2, 100), frame(3, 200), frame(4, 100), frame(5, 300)}) link->receive(each);
    EXPECT_THAT(receive(0), ElementsAre(1));
    EXPECT_TRUE(ports[0]->rx_consumed(0)) << "more came with it";
    EXPECT_THAT(receive(1), ElementsAre(2, 4));
    EXPECT_THAT(receive(2), ElementsAre(3));
    EXPECT_FALSE(ports[2]->rx_consumed(0));
    EXPECT_EQ(counter(*ports[0], "rx_dropped_vlan"), 1U) << "nobody's";
}

TEST_F(VlanTrunk, KeepsTheOrderAndLosesNothingHoweverItIsPolled) {
    std::vector<unsigned> expected;
    for (unsigned i = 0; i < 250; ++i) {
        link->receive(frame(i, 100));
        expected.push_back(i);
    }
    std::vector<unsigned> received;
    for (unsigned poll = 0; received.size() < expected.size(); ++poll) {
        ASSERT_LT(poll, 1000U);
        EXPECT_THAT(receive(0), IsEmpty()) << "which reads for the others";
        for (const auto number : receive(1, 7)) received.push_back(number);
    }
    EXPECT_EQ(received, expected);
}

TEST_F(VlanTrunk, TagsWhatIsSent) {
    EXPECT_EQ(send(1, {1, 2}), 2);
    EXPECT_EQ(send(0, {3}), 1);
    ASSERT_EQ(link->sent.size(), 3U);
    EXPECT_EQ(test::bytes_of(link->sent[0]), frame(1, 100));
    EXPECT_EQ(test::bytes_of(link->sent[1]), frame(2, 100));
    EXPECT_EQ(test::bytes_of(link->sent[2]), frame(3));
}

TEST_F(VlanTrunk, ReturnsWhatTheDeviceDoesNotTake) {
    link->tx_room = 1;
    EXPECT_EQ(send(1, {1, 2, 3}), 1);
    EXPECT_EQ(link->sent.size(), 1U);
}

TEST_F(VlanTrunk, DropsWhatHasNoRoomForATag) {
    std::array<rte_mbuf*, 3> burst;
    for (auto& each : burst) each = test::make_packet(frame(1)).release();
    rte_pktmbuf_prepend(burst[1], rte_pktmbuf_headroom(burst[1]));
    EXPECT_EQ(ports[1]->tx_burst(0, burst), 3);
    EXPECT_EQ(link->sent.size(), 2U);
    EXPECT_EQ(counter(*ports[1], "tx_dropped_no_room"), 1U);
}

TEST_F(VlanTrunk, CountsTruncatedFrames) {
    const auto whole = frame(1, 100);
    link->receive(std::span(whole).first(16));
    EXPECT_THAT(receive(1), IsEmpty());
    EXPECT_EQ(counter(*ports[0], "rx_dropped_malformed"), 1U);
}

TEST_F(VlanTrunk, IsUpWhileAPortIs) {
    ASSERT_TRUE(ports[0]->up() && ports[1]->up() && ports[1]->up());
    EXPECT_TRUE(link->is_up);
    ports[0]->down(), ports[0]->down();
    EXPECT_TRUE(link->is_up);
    ports.pop_back();
    EXPECT_TRUE(link->is_up);
    ports[1]->down();
    EXPECT_FALSE(link->is_up);
}

TEST_F(VlanTrunk, ReceivesAGroupWhileAPortIsAttached) {
    const MulticastAddress group{.mac = mac(9)};
    for (const std::size_t port : {0, 1}) EXPECT_FALSE(ports[port]->attach_multicast(group));
    EXPECT_EQ(link->groups.size(), 1U);
    EXPECT_FALSE(ports[0]->detach_multicast(group));
    EXPECT_EQ(link->groups.size(), 1U);
    EXPECT_FALSE(ports[1]->detach_multicast(group));
    EXPECT_THAT(link->groups, IsEmpty());
}

TEST_F(VlanTrunk, ReceivesAllGroupsWhileAPortWantsThem) {
    for (const std::size_t port : {0, 1, 1}) EXPECT_FALSE(ports[port]->receive_all_multicast(true));
    EXPECT_FALSE(ports[1]->receive_all_multicast(false));
    EXPECT_TRUE(link->all_multicast);
    ports.erase(ports.begin());
    EXPECT_FALSE(link->all_multicast);
}

TEST_F(VlanTrunk, WakesByTheFirstPortWhileAnyWants) {
    EXPECT_EQ(ports[0]->rx_event(0), link->event.get());
    EXPECT_NE(ports[1]->rx_event(0), link->event.get()) << "each has its own, to be waited for together";
    EXPECT_GE(ports[1]->rx_event(0), 0);
    ports[1]->want_rx_event(0, true), ports[0]->want_rx_event(0, true);
    EXPECT_EQ(link->wanted, 1);
    ports[1]->want_rx_event(0, false), ports[1]->want_rx_event(0, false);
    EXPECT_EQ(link->wanted, 1);
    ports[0]->want_rx_event(0, false);
    EXPECT_EQ(link->wanted, 0);
}

TEST_F(VlanTrunk, GivesAllPortsOneMacAddress) {
    for (const auto& port : ports) EXPECT_EQ(port->mac(), mac(1));
    EXPECT_EQ(ports[1]->name(), "fake.100");
}

TEST_F(VlanTrunk, FreesFramesThatWereNotReceived) {
    link->receive(frame(1, 100));
    EXPECT_THAT(receive(0), IsEmpty());
    ports.clear();  // the test fails if a packet is left
}

}  // namespace
}  // namespace verbline::pmd::vlan
