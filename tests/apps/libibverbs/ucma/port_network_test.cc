// SPDX-License-Identifier: BSD-3-Clause
// A port on Ethernet whose link nobody else is on.
#include "apps/libibverbs/ucma/port_network.h"

#include <vector>

#include "apps/libibverbs/objects/context.h"
#include "datapath/link/ip_gid.h"
#include "pmd/base/clock.h"
#include "tests/support/verbs_device.h"

namespace verbline::verbs {
namespace {

const auto group = link::gid_of(wire::ipv4(239, 1, 1, 1));

struct PortNetworkTest : test::VerbsTest {
    void SetUp() override {
        VerbsTest::SetUp();
        auto made = PortNetwork::create(Context::of(context).port(),
                                        {.on_ready = [](cm::Endpoint&) {},
                                         .later = [this](PortNetwork::Task task) { later.push_back(std::move(task)); },
                                         .with_service = [](const PortNetwork::Task& task) { task(); },
                                         .bound = [](const rdmacm::NetworkPort&, wire::CmServiceId) { return false; },
                                         .changed = [](const rdmacm::NetworkPort&, bool) {},
                                         .holds_service = [] { return true; },
                                         .now = monotonic_now,
                                         .loop = loop.get()});
        ASSERT_TRUE(made) << made.error().what;
        network = std::move(*made);
    }
    void TearDown() override {
        network.reset();
        VerbsTest::TearDown();
    }
    void join(rdmacm::NetworkPort::Ticket ticket, std::optional<wire::QKey> qkey) {
        network->join(ticket, {.mgid = group, .qkey = qkey},
                      [this](const Result<rdmacm::JoinedGroup>& answer) { joined.push_back(answer.value()); });
    }
    void run_tasks() {
        for (const auto& task : std::exchange(later, {})) task();
    }

    std::unique_ptr<control::Loop> loop = std::move(*control::Loop::create());
    std::vector<PortNetwork::Task> later;
    std::vector<rdmacm::JoinedGroup> joined;
    std::unique_ptr<PortNetwork> network;
};

TEST_F(PortNetworkTest, AGroupsQKeyIsTheRequestedOne) {
    join(1, wire::QKey{0x1234});
    join(2, std::nullopt);
    EXPECT_TRUE(joined.empty()) << "not with the service held";
    run_tasks();
    ASSERT_EQ(joined.size(), 2u);
    EXPECT_EQ(joined[0].qkey, wire::QKey{0x1234});
    EXPECT_EQ(joined[1].qkey, wire::QKey{});
    for (const auto& each : joined) {
        EXPECT_EQ(each.mgid, group);
        EXPECT_EQ(each.mac, (wire::MacAddress{{std::byte{0x01}, std::byte{0x00}, std::byte{0x5e}, std::byte{0x01},
                                               std::byte{0x01}, std::byte{0x01}}}));
    }
    for (const auto ticket : {1u, 2u}) network->leave(ticket, group);
    run_tasks();
}

TEST_F(PortNetworkTest, ACancelledJoinReportsNothingAndLeavesTheGroup) {
    join(1, std::nullopt);
    network->cancel(1);
    run_tasks();
    EXPECT_TRUE(joined.empty());
    EXPECT_EQ(later.size(), 1u) << "the way out";
    run_tasks();
}

TEST_F(PortNetworkTest, KnowsItsAddresses) {
    EXPECT_EQ(network->facts().addresses.size(), 1u);
    EXPECT_EQ(network->gid_index(network->facts().addresses[0].gid, link::GidType::roce_v2), test::gid_index);
    EXPECT_FALSE(network->gid_index(group, link::GidType::roce_v2));
}

}  // namespace
}  // namespace verbline::verbs
