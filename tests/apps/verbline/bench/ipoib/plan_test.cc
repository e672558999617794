// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/ipoib/plan.h"

#include <gtest/gtest.h>

namespace verbline::ipoib_bench {
namespace {

using link::Carrier;

Result<IpoibPlan> made(auto&& change) {
    IpoibTexts texts;
    change(texts);
    return make_plan(texts);
}
std::string refusal(auto&& change) {
    const auto result = made(change);
    return result ? "" : result.error().what;
}

TEST(IpoibPlan, WithoutOptionsARingInMemoryCarriesAll) {
    const auto plan = made([](auto&) {}).value();
    EXPECT_EQ(plan.device_texts, std::vector<std::string>{"dpdk:net_ring0"});
    EXPECT_EQ(plan.links, (std::vector<LinkKind>{{}, Carrier::soft_ib, Carrier::roce_v2_ipv4}));
    ASSERT_EQ(plan.cases.size(), 8u);
    EXPECT_EQ(plan.cases[0], (Case{.size = 64, .requests = false}));
    EXPECT_EQ(plan.cases[7], (Case{.size = 65535, .requests = true}));
    EXPECT_FALSE(plan.large({.size = 1500}));
    EXPECT_TRUE(plan.large({.size = 1501}));
    EXPECT_FALSE(plan.ports.has_any());
}

TEST(IpoibPlan, OffloadsAreNamed) {
    EXPECT_EQ(made([](auto& t) { t.ports.offloads = "udp-cksum"; }).value().ports.offloads.named.size(), 1u);
    EXPECT_EQ(refusal([](auto& t) { t.ports.offloads = "cksum"; }).find("--offloads: cksum is no offload; "), 0u);
}

TEST(IpoibPlan, TheTimeIsForAllTogether) {
    const auto plan = made([](auto& t) { t.seconds = 12, t.rounds = 5, t.sizes = "64", t.carriers = "roce1"; }).value();
    EXPECT_EQ(plan.slice, 12 * second / (5 * 2 * 2));
}

TEST(IpoibPlan, CarriersHaveNames) {
    const auto plan = made([](auto& t) { t.carriers = "roce2-ipv6,roce1"; }).value();
    EXPECT_EQ(plan.links, (std::vector<LinkKind>{{}, Carrier::roce_v2_ipv6, Carrier::roce_v1}));
    EXPECT_EQ(name_of({}), "ethernet");
    EXPECT_EQ(name_of(Carrier::roce_v2_ipv6), "roce2-ipv6");
    EXPECT_EQ(name_of(Carrier::soft_ib), "soft_ib");
}

TEST(IpoibPlan, RefusesWhatDoesNotFit) {
    EXPECT_EQ(refusal([](auto& t) { t.sizes = "64,27"; }), "--size: 27 is no number from 28 to 65535");
    EXPECT_EQ(refusal([](auto& t) { t.sizes = "65536"; }), "--size: 65536 is no number from 28 to 65535");
    EXPECT_EQ(refusal([](auto& t) { t.sizes = "64,64"; }), "--size: 64 is there twice");
    EXPECT_EQ(refusal([](auto& t) { t.carriers = "soft_ib,ethernet"; }),
              "--carrier: ethernet is none of soft_ib, roce1, roce2, roce2-ipv6");
    EXPECT_EQ(refusal([](auto& t) { t.carriers = "roce2,"; }),
              "--carrier:  is none of soft_ib, roce1, roce2, roce2-ipv6");
    EXPECT_EQ(refusal([](auto& t) { t.carriers = "roce2,roce2"; }), "--carrier: roce2 is there twice");
    EXPECT_EQ(refusal([](auto& t) { t.seconds = 0.01; }), "--seconds: 168 measurements need 0.0168 at least");
    EXPECT_EQ(refusal([](auto& t) { t.devices = {"memif:a", "memif:a,server", "memif:b"}; }),
              "there is one DEVICE, or two");
    EXPECT_EQ(refusal([](auto& t) { t.lcores = "x"; }), "--lcores: x is no list such as 1,3-5");
    EXPECT_NE(refusal([](auto& t) { t.devices = {"x"}; }), "");
}

}  // namespace
}  // namespace verbline::ipoib_bench
