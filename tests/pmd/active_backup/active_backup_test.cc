// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/active_backup/active_backup.h"

#include <array>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/counter.h"
#include "tests/support/fake_netdev.h"

namespace verbline::pmd {
namespace {

/// With a receive event of its own.
class Member : public test::FakeNetDevice {
public:
    explicit Member(int event) : FakeNetDevice("member"), event_(event) {}
    int rx_event(std::uint16_t) const noexcept override { return event_; }
    void want_rx_event(std::uint16_t, bool wanted) noexcept override { armed = wanted; }
    bool armed = false;

private:
    int event_;
};

struct ActiveBackupTest : ::testing::Test {
    void SetUp() override {
        auto one = std::make_unique<Member>(7), two = std::make_unique<Member>(8);
        first = one.get(), second = two.get();
        ActiveBackup::Members members{std::move(one), std::move(two)};
        pair = ActiveBackup::create("pair", std::move(members)).value();
        ASSERT_TRUE(pair->up());
    }
    std::size_t receive() {
        std::array<rte_mbuf*, 8> burst;
        const auto n = pair->rx_burst(0, burst);
        for (std::size_t i = 0; i < n; ++i) test::Packet{burst[i]};
        return n;
    }
    void send() {
        auto packet = test::make_packet(test::pattern(60));
        auto* mbuf = packet.release();
        ASSERT_EQ(pair->tx_burst(0, std::span(&mbuf, 1)), 1u);
    }
    std::uint64_t counter(std::string_view name) const { return test::counter(*pair, name); }

    const int eal = (test::packet_pool(), 0);
    std::unique_ptr<ActiveBackup> pair;
    Member *first = nullptr, *second = nullptr;
};

TEST_F(ActiveBackupTest, BothAreUpAndOneIsUsed) {
    EXPECT_TRUE(first->is_up && second->is_up);
    send();
    first->receive(test::pattern(60));
    EXPECT_EQ(receive(), 1u);
    EXPECT_EQ(first->sent.size(), 1u);
    EXPECT_TRUE(second->sent.empty());
    pair->down();
    EXPECT_FALSE(first->is_up || second->is_up);
}

TEST_F(ActiveBackupTest, TheLinkIsTheActiveOnes) {
    second->link = false;
    EXPECT_TRUE(pair->link_up());
    EXPECT_TRUE(pair->member_link(0));
    EXPECT_FALSE(pair->member_link(1));
    pair->select(1);
    EXPECT_FALSE(pair->link_up());
}

TEST_F(ActiveBackupTest, WhatWaitedAtTheOtherIsOlderThanTheChange) {
    for (int i = 0; i < 100; ++i) second->receive(test::pattern(60));
    pair->select(1);
    EXPECT_EQ(receive(), 0u);
    EXPECT_EQ(counter("rx_discarded_backup"), 100u);
    EXPECT_EQ(counter("failovers"), 1u);
    second->receive(test::pattern(60));
    first->receive(test::pattern(60));
    EXPECT_EQ(receive(), 1u) << "of the second alone";
    EXPECT_EQ(second->to_receive.size(), 0u);
    EXPECT_EQ(first->to_receive.size(), 1u);
    send();
    EXPECT_EQ(second->sent.size(), 1u);
}

TEST_F(ActiveBackupTest, TheBackupsQueueIsEmptiedNowAndThen) {
    for (int i = 0; i < 10; ++i) second->receive(test::pattern(60));
    for (int i = 0; i < 300; ++i) EXPECT_EQ(receive(), 0u);
    EXPECT_TRUE(second->to_receive.empty());
    EXPECT_EQ(counter("rx_discarded_backup"), 10u);
}

TEST_F(ActiveBackupTest, ASleeperIsWokenByTheActiveOne) {
    pair->want_rx_event(0, true);
    EXPECT_EQ(pair->rx_event(0), 7);
    EXPECT_TRUE(first->armed);
    pair->select(1);
    EXPECT_EQ(pair->rx_event(0), 8);
    pair->want_rx_event(0, true);
    EXPECT_FALSE(first->armed);
    EXPECT_TRUE(second->armed);
    pair->want_rx_event(0, false);
    EXPECT_FALSE(second->armed);
}

TEST_F(ActiveBackupTest, FiltersAreTheActiveOnes) {
    EXPECT_FALSE(pair->attach_multicast({}));
    pair->select(1);
    EXPECT_FALSE(pair->set_identity({.mac = {{std::byte{2}}}}));
    EXPECT_EQ(first->groups.size(), 1u);
    EXPECT_TRUE(second->groups.empty());
    EXPECT_EQ(second->identity.mac.bytes[0], std::byte{2});
}

TEST_F(ActiveBackupTest, SelectingTheSameIsNoChange) {
    pair->select(0);
    EXPECT_EQ(counter("failovers"), 0u);
    EXPECT_EQ(counter("fake_counter"), 2u) << "of both";
}

TEST(ActiveBackup, OffersWhatBothCanDo) {
    auto one = std::make_unique<test::FakeNetDevice>(), two = std::make_unique<test::FakeNetDevice>();
    one->capabilities().max_packet = 4000, two->capabilities().max_packet = 3000;
    one->capabilities().tx_offloads = 7, two->capabilities().tx_offloads = 2;
    one->capabilities().max_tso = 65535, two->capabilities().max_tso = 0;
    ActiveBackup::Members members{std::move(one), std::move(two)};
    const auto pair = ActiveBackup::create("pair", std::move(members)).value();
    EXPECT_EQ(pair->capabilities().max_packet, 3000u);
    EXPECT_EQ(pair->capabilities().tx_offloads, 2u);
    EXPECT_EQ(pair->capabilities().max_tso, 0u);
}

TEST(ActiveBackup, IsOfDevicesThatAreAlike) {
    auto one = std::make_unique<test::FakeNetDevice>("a"), two = std::make_unique<test::FakeNetDevice>("b");
    two->capabilities().rx_queues = 2;
    ActiveBackup::Members members{std::move(one), std::move(two)};
    const auto pair = ActiveBackup::create("pair", std::move(members));
    ASSERT_FALSE(pair);
    EXPECT_EQ(pair.error().what, "a has 1 queues, and its backup b has 2");
}

}  // namespace
}  // namespace verbline::pmd
