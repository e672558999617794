// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/rss/software_rss.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pmd/bridge/bridge.h"
#include "tests/pmd/rss/devices.h"

namespace verbline::pmd {
namespace {

using test::marked, test::MarkHash, test::options_of, test::QueuedDevice, test::Shared;
using ::testing::ElementsAre, ::testing::HasSubstr, ::testing::SizeIs;

TEST(SoftwareRss, SpreadsEvenlyByDefault) {
    const MarkHash flows;
    auto device =
        SoftwareRss::create(std::make_unique<QueuedDevice>(1, 1), {.queues = 3, .flows = &flows, .owners = {0}});
    ASSERT_TRUE(device);
    const auto rss = (*device)->rss();
    ASSERT_TRUE(rss);
    EXPECT_TRUE(std::ranges::equal(rss->key, flows.bytes));
    EXPECT_THAT(rss->queues, SizeIs(128));
    for (std::uint16_t queue = 0; queue < 3; ++queue) {
        EXPECT_NEAR(static_cast<double>(std::ranges::count(rss->queues, queue)), 128.0 / 3, 1);
    }
}

TEST(SoftwareRss, BridgeForwardsRxConsumed) {
    const MarkHash flows;
    std::vector<std::unique_ptr<NetDevice>> members;
    std::array<QueuedDevice*, 2> inside{};
    for (auto*& one : inside) {
        auto made = std::make_unique<QueuedDevice>(1, 1);
        one = made.get();
        members.push_back(SoftwareRss::create(std::move(made), options_of(flows, 2, {0})).value());
    }
    const auto bridge = Bridge::create("switch", std::move(members), test::packet_pool(), [] { return Time{0}; });
    ASSERT_TRUE(bridge);
    EXPECT_EQ((*bridge)->capabilities().rx_queues, 2);
    std::array<rte_mbuf*, max_burst> burst;
    inside[1]->queues[0].to_receive.push_back(marked(3));
    EXPECT_EQ((*bridge)->rx_burst(0, burst), 0);
    EXPECT_TRUE((*bridge)->rx_consumed(0));
    EXPECT_EQ((*bridge)->rx_burst(0, burst), 0);
    EXPECT_FALSE((*bridge)->rx_consumed(0));
    std::map<std::string, std::uint64_t, std::less<>> counters;
    (*bridge)->queue_counters(
        0, [&](std::string_view name, std::uint64_t value, std::string_view) { counters.emplace(name, value); });
    EXPECT_EQ(counters["member1_rx_handed_over"], 1u);
    EXPECT_EQ(counters["member0_rx_handed_over"], 0u);
    EXPECT_EQ(counters.count("forwarded"), 1u);
}

TEST(SoftwareRss, OneOwnerServesSeveralDeviceQueues) {
    Shared shared(1, {0, 0, 0}, 3);
    for (std::uint16_t queue = 0; queue < 3; ++queue) shared.arrive(9, queue, queue);
    EXPECT_THAT(shared.receive(0), SizeIs(3));
    EXPECT_FALSE(shared.device->rx_consumed(0));
    ASSERT_TRUE(shared.send(0, 0, 1));
    EXPECT_THAT(shared.sent(0), ElementsAre(1));
}

TEST(SoftwareRss, CountsByQueueAndInSum) {
    Shared shared(2, {0});
    shared.arrive(3);
    shared.receive(0);
    shared.receive(1);
    EXPECT_EQ(shared.queue_counter(0, "rx_handed_over"), 1u);
    EXPECT_EQ(shared.queue_counter(1, "rx_handed_over"), 0u);
    EXPECT_EQ(shared.queue_counter(1, "rx_taken_over"), 1u);
    EXPECT_EQ(shared.counter("rx_taken_over"), 1u);
    EXPECT_EQ(shared.counter("fake_counter"), 1u) << "the device's own are shown too";
    EXPECT_EQ(shared.queue_counter(0, "polls"), 1u) << "of the queue that it owns";
    EXPECT_EQ(shared.queue_counter(1, "polls"), ~std::uint64_t{0});
}

TEST(SoftwareRss, ForwardsOtherOperations) {
    Shared shared(2, {0});
    EXPECT_EQ(shared.device->name(), "fake");
    EXPECT_TRUE(shared.device->up());
    EXPECT_TRUE(shared.inside->is_up);
    EXPECT_TRUE(shared.device->link_up());
    EXPECT_FALSE(shared.device->set_identity({.pkey = wire::PKey{0x8001}}));
    EXPECT_EQ(shared.inside->identity.pkey, wire::PKey{0x8001});
    shared.device->down();
    EXPECT_FALSE(shared.inside->is_up);
}

TEST(SoftwareRss, FreesPendingPackets) {
    const auto before = rte_mempool_in_use_count(test::packet_pool());
    {
        Shared shared(2, {0});
        shared.arrive(3);
        shared.receive(0);
        shared.inside->queues[0].tx_room = 0;
        ASSERT_TRUE(shared.send(1, 0));
        shared.device->tx_burst(0, {});
        ASSERT_TRUE(shared.send(1, 0));
        EXPECT_EQ(rte_mempool_in_use_count(test::packet_pool()), before + 3);
    }
    EXPECT_EQ(rte_mempool_in_use_count(test::packet_pool()), before);
}

TEST(SoftwareRss, CreateReportsInvalidConfiguration) {
    const MarkHash flows;
    const auto error_of = [&](const SoftwareRssOptions& options, Carries carries = Carries::ethernet) {
        auto inside = std::make_unique<QueuedDevice>(1, 1);
        inside->capabilities().carries = carries;
        const auto device = SoftwareRss::create(std::move(inside), options);
        return device ? "" : device.error().what;
    };
    const SoftwareRssOptions good{.queues = 2, .flows = &flows, .owners = {0}};
    EXPECT_EQ(error_of(good), "");
    EXPECT_EQ(error_of(good, Carries::ip), "");
    EXPECT_EQ(error_of(good, Carries::datagram),
              "device fake: cannot be shared by 2 queues: packets that carry an address each cannot be handed over for "
              "transmission");
    auto enough = std::make_unique<QueuedDevice>(1, 2);
    enough->capabilities().carries = Carries::datagram;
    EXPECT_TRUE(SoftwareRss::create(std::move(enough), good)) << "each queue sends by its own";
    auto wrong = good;
    wrong.owners = {2};
    EXPECT_THAT(error_of(wrong), HasSubstr("an owner is none of the queues"));
    wrong.owners = {0, 1};
    EXPECT_THAT(error_of(wrong), HasSubstr("2 owners of 1 receive queues"));
    wrong = good;
    wrong.redirection = {0, 1, 0};
    EXPECT_THAT(error_of(wrong), HasSubstr("no power of two"));
    wrong.redirection = {0, 2};
    EXPECT_THAT(error_of(wrong), HasSubstr("names none of the queues"));
    wrong = good;
    wrong.sockets = {0};
    EXPECT_THAT(error_of(wrong), HasSubstr("NUMA nodes of some queues only"));
    wrong = good;
    wrong.flows = nullptr;
    EXPECT_THAT(error_of(wrong), HasSubstr("nothing to spread packets by"));
    wrong = good;
    wrong.queues = 0;
    EXPECT_THAT(error_of(wrong), HasSubstr("nothing to spread packets by, or over"));
}

}  // namespace
}  // namespace verbline::pmd
