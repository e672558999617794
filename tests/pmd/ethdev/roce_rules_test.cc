// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/ethdev/roce_rules.h"

#include <functional>

#include <gtest/gtest.h>

namespace verbline::pmd {
namespace {

/// A device that takes the rules that it is told to take.
struct FakeTable final : FlowTable {
    bool matches_bth = true;
    std::function<bool(const FlowRule&)> valid = [](const FlowRule&) { return true; };
    std::size_t room = SIZE_MAX;  ///< rules that can be created, whatever is valid
    std::vector<FlowRule> rules;

    bool knows_qpns() const override { return matches_bth; }
    Result<void> validate(const FlowRule& rule) override {
        return valid(rule) ? Result<void>() : failure(ENOTSUP, "not supported");
    }
    Result<void> create(const FlowRule& rule) override {
        if (rules.size() == room) return failure(ENOSPC, "no room");
        rules.push_back(rule);
        return {};
    }
    void clear() override { rules.clear(); }

    /// Where a packet of RoCE v2 goes, through groups; -1: by RSS over all, -2: no rule has it.
    int queue_of(std::uint32_t qpn, bool ipv6, std::uint32_t group = 0) const {
        for (const auto& rule : rules) {
            const bool other = rule.qpns && (qpn & rule.qpns->mask) != rule.qpns->value;
            if (rule.group != group || rule.ipv6 != ipv6 || other) continue;
            if (const auto* to = std::get_if<FlowRule::ToQueue>(&rule.action)) return to->queue;
            if (const auto* to = std::get_if<FlowRule::ToGroup>(&rule.action)) return queue_of(qpn, ipv6, to->group);
            return -1;
        }
        return -2;
    }
};

bool by_qpn(const FlowRule& rule) {
    return rule.qpns.has_value();
}

TEST(RoceRules, EachQpnHasItsQueue) {
    for (const std::uint16_t queues : {2, 3, 4, 7, 8}) {
        FakeTable table;
        const auto found = install_roce_rules(table, queues);
        EXPECT_EQ(found.match, RoceMatch::qpn);
        EXPECT_EQ(found.count, table.rules.size());
        EXPECT_TRUE(found.refused.empty());
        std::vector<unsigned> pairs(queues);
        for (std::uint32_t qpn = 0; qpn < 1000; ++qpn) {
            const auto queue = table.queue_of(qpn, false);
            ASSERT_GE(queue, 0);
            ASSERT_LT(queue, queues);
            EXPECT_EQ(table.queue_of(qpn, true), queue) << "whatever the version of IP";
            ++pairs[static_cast<std::size_t>(queue)];
        }
        for (const auto count : pairs) EXPECT_GT(count, 100u) << "every queue has some";
        EXPECT_EQ(table.queue_of(0x123456, false), table.queue_of(0x123456 & 7, false));
    }
}

TEST(RoceRules, SomeDevicesMatchItBehindGroupZeroAlone) {
    FakeTable table;
    table.valid = [](const FlowRule& rule) { return !by_qpn(rule) || rule.group != 0; };
    const auto found = install_roce_rules(table, 4);
    EXPECT_EQ(found.match, RoceMatch::qpn);
    EXPECT_EQ(found.refused, std::vector<std::string>{"by QPN: not supported"});
    for (std::uint32_t qpn = 0; qpn < 16; ++qpn)
        EXPECT_EQ(table.queue_of(qpn, qpn % 3 == 0), static_cast<int>(qpn % 4));
}

TEST(RoceRules, WithoutItTheUdpPortAndRss) {
    FakeTable table;
    table.valid = std::not_fn(by_qpn);
    auto found = install_roce_rules(table, 4);
    EXPECT_EQ(found.match, RoceMatch::udp_port);
    EXPECT_EQ(found.refused, (std::vector<std::string>{"by QPN: not supported", "by QPN in group 1: not supported"}));
    const std::vector<FlowRule> want{{.ipv6 = false, .action = FlowRule::ToQueues{4}},
                                     {.ipv6 = true, .action = FlowRule::ToQueues{4}}};
    EXPECT_EQ(table.rules, want);

    FakeTable old;
    old.matches_bth = false;
    found = install_roce_rules(old, 4);
    EXPECT_EQ(found.match, RoceMatch::udp_port);
    EXPECT_EQ(found.refused, std::vector<std::string>{"by QPN: this DPDK cannot match it; 23.07 can"});
    EXPECT_EQ(old.rules, want);
}

TEST(RoceRules, OneQueueGetsAll) {
    FakeTable table;
    EXPECT_EQ(install_roce_rules(table, 1).match, RoceMatch::udp_port);
    EXPECT_EQ(table.rules.size(), 2u);
    EXPECT_EQ(table.queue_of(77, false), 0);
    EXPECT_EQ(table.queue_of(77, true), 0);
}

TEST(RoceRules, NoneIsLeftOfAKindThatDoesNotFit) {
    FakeTable table;
    table.room = 5;
    const auto found = install_roce_rules(table, 4);
    EXPECT_EQ(found.match, RoceMatch::udp_port);
    EXPECT_EQ(found.refused, (std::vector<std::string>{"by QPN: no room", "by QPN in group 1: no room"}));
    EXPECT_EQ(table.rules.size(), 2u);
}

TEST(RoceRules, ADeviceMayTakeNone) {
    FakeTable table;
    table.valid = [](const FlowRule& rule) { return !rule.ipv6; };
    const auto found = install_roce_rules(table, 2);
    EXPECT_EQ(found.match, RoceMatch::none);
    EXPECT_EQ(found.count, 0u);
    EXPECT_EQ(found.refused.size(), 3u);
    EXPECT_EQ(found.refused.back(), "by UDP port: not supported");
    EXPECT_TRUE(table.rules.empty());
}

TEST(RoceRules, KindsHaveNames) {
    EXPECT_EQ(name_of(RoceMatch::none), "none");
    EXPECT_EQ(name_of(RoceMatch::udp_port), "udp-port");
    EXPECT_EQ(name_of(RoceMatch::qpn), "qpn");
}

}  // namespace
}  // namespace verbline::pmd
