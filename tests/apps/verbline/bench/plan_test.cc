// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/plan.h"

#include <gtest/gtest.h>

namespace verbline::bench {
namespace {

PacketTexts texts(auto&& change) {
    PacketTexts made{.devices = {"dpdk:net_null0"}};
    change(made);
    return made;
}
PacketPlan plan(auto&& change) {
    return make_plan(texts(change)).value();
}
std::string refusal(auto&& change) {
    const auto made = make_plan(texts(change));
    return made ? "" : made.error().what;
}

TEST(PacketPlan, DefaultsAreALoopOfSmallFramesForTenSeconds) {
    const auto made = plan([](auto&) {});
    EXPECT_EQ(made.role, Role::loopback);
    EXPECT_EQ(made.sizes.sizes(), std::vector<std::uint32_t>{64});
    EXPECT_EQ(made.flows, 1u);
    EXPECT_EQ(made.duration, 10 * second);
    EXPECT_EQ(made.mtu, 1500);
    EXPECT_FALSE(made.rate);
}

TEST(PacketPlan, FlowsAreMadeOfPortsThenAddresses) {
    const auto few = plan([](auto& t) { t.flows = 100; });
    EXPECT_EQ(few.frames.fields().size(), 1u);
    EXPECT_EQ(few.flows, 100u);
    const auto many = plan([](auto& t) { t.flows = 1'000'000; });
    EXPECT_EQ(many.flows, 1'000'000u);
    EXPECT_GE(many.frames.flows(), 1'000'000u);
    EXPECT_EQ(many.frames.fields().size(), 2u);
    const auto one_port = plan([](auto& t) { t.flows = 1000, t.source_port = "5"; });
    EXPECT_EQ(one_port.frames.fields().size(), 1u);
    EXPECT_EQ(one_port.frames.fields()[0].width, 4);
}

TEST(PacketPlan, RangesMakeFlows) {
    EXPECT_EQ(plan([](auto& t) { t.source_port = "1-10", t.destination_ip = "10.0.0.1-10.0.0.7"; }).flows, 70u);
    EXPECT_EQ(refusal([](auto& t) { t.source_port = "1-10", t.source_ip = "10.0.0.1", t.flows = 11; }),
              "--flows: the ranges given make 10 flows only; widen one of them");
}

TEST(PacketPlan, FlowsOfRoceV1AreMadeOfQueuePairs) {
    const auto roce = [](std::string protocol) {
        return plan([&](auto& t) { t.protocol = protocol, t.size = "128", t.flows = 20'000; }).frames;
    };
    EXPECT_EQ(roce("roce1").fields().size(), 2u);
    EXPECT_EQ(roce("roce1").fields()[1].width, 4);
    EXPECT_EQ(roce("roce2").fields()[0].width, 2);
    EXPECT_EQ(plan([](auto& t) { t.protocol = "roce2", t.size = "128", t.destination_qpn = "0x100-0x1ff"; }).flows,
              256u);
}

TEST(PacketPlan, RefusesFieldsThatFramesDoNotHave) {
    EXPECT_EQ(refusal([](auto& t) { t.destination_qpn = "5"; }), "--destination-qpn: frames of udp have no queue pair");
    EXPECT_EQ(refusal([](auto& t) { t.protocol = "roce1", t.source_port = "5"; }),
              "--source-port: frames of roce1 have no ports");
    EXPECT_EQ(refusal([](auto& t) { t.protocol = "roce1", t.destination_port = "5"; }),
              "--destination-port: frames of roce1 have no ports");
    EXPECT_EQ(refusal([](auto& t) { t.protocol = "roce2", t.destination_port = "5"; }),
              "--destination-port: that of RoCE v2 is 4791");
    for (const auto* port : {"4791", "4000-5000"})
        EXPECT_EQ(refusal([=](auto& t) { t.destination_port = port; }),
                  "--destination-port: UDP to 4791 is RoCE v2: use --protocol roce2");
    EXPECT_EQ(refusal([](auto& t) { t.destination_port = "4792-4800"; }), "");
    EXPECT_EQ(refusal([](auto& t) { t.destination_port = "4791", t.protocol = "tcp", t.size = "128"; }), "");
    EXPECT_EQ(refusal([](auto& t) { t.protocol = "roce2"; }),
              "--size: frames of 64 bytes have no room for their headers and the stamp behind them: give 90 or more");
}

TEST(PacketPlan, OffloadsAreNamedOrAllOrNone) {
    EXPECT_FALSE(plan([](auto&) {}).ports.has_any());
    for (const auto* text : {"", "true", "all"}) {
        const auto made = plan([=](auto& t) { t.ports.offloads = text; }).ports;
        EXPECT_EQ(made.texts.offloads, "all");
        EXPECT_EQ(made.offloads.if_there, pmd::usable_offloads);
    }
    EXPECT_FALSE(plan([](auto& t) { t.ports.offloads = "false"; }).ports.has_any());
    const auto named = plan([](auto& t) { t.ports.offloads = "tcp-tso,ipv4-cksum"; }).ports;
    ASSERT_EQ(named.offloads.named.size(), 2u);
    EXPECT_EQ(named.offloads.named[0].name, "tcp-tso");
    EXPECT_EQ(refusal([](auto& t) { t.ports.offloads = "tso"; }).find("--offloads: tso is no offload; there are all"),
              0u);
    EXPECT_EQ(refusal([](auto& t) { t.ports.offloads = "tcp-tso", t.devices = {"eth:lo"}; }),
              "--offloads: only ports of DPDK (dpdk:) have any to choose");
    EXPECT_EQ(refusal([](auto& t) { t.ports.offloads = "all", t.devices = {"eth:lo"}; }), "")
        << "all that it has: none";
}

TEST(PacketPlan, RssTypesAreOfSeveralQueues) {
    const auto made = plan([](auto& t) { t.ports.rss_types = "ip,udp", t.queues = 2; }).ports;
    EXPECT_TRUE(made.has_any());
    EXPECT_EQ(made.offloads.if_there.rss, 0u);
    EXPECT_EQ(made.offloads.named.size(), 2u);
    EXPECT_EQ(refusal([](auto& t) { t.ports.rss_types = "udp"; }),
              "--rss-types: one queue gets all; give --queues, too");
    EXPECT_EQ(
        refusal([](auto& t) { t.ports.rss_types = "ucp", t.queues = 2; }).find("--rss-types: ucp is no RSS type; "),
        0u);
}

TEST(PacketPlan, HardwareTimestampsAreOfALoopOfDpdksPorts) {
    const auto hardware = [](PacketTexts& t) { t.timestamps = "hardware"; };
    EXPECT_EQ(plan([](auto&) {}).timestamps, Timestamps::tsc);
    EXPECT_EQ(plan(hardware).timestamps, Timestamps::hardware);
    EXPECT_EQ(refusal([&](auto& t) { hardware(t), t.role = "sink"; }),
              "--timestamps: only --role loopback, which sends and receives, measures latency");
    EXPECT_EQ(refusal([&](auto& t) { hardware(t), t.devices = {"dpdk:net_null0", "eth:lo"}; }),
              "--timestamps: eth:lo is no port of DPDK (dpdk:), which alone date frames");
    EXPECT_EQ(refusal([&](auto& t) { hardware(t), t.devices = {"eth:lo", "dpdk:net_null0"}; }), "") << "it only sends";
    EXPECT_NE(refusal([&](auto& t) { hardware(t), t.devices = {"eth:lo", "dpdk:net_null0"}, t.bidirectional = true; }),
              "");
}

TEST(PacketPlan, FlowRulesAreOfDpdksPortsThatReceive) {
    const auto rules = [](PacketTexts& t) { t.flow_rules = "roce"; };
    EXPECT_TRUE(plan(rules).roce_rules);
    EXPECT_TRUE(plan([&](auto& t) { rules(t), t.isolated = true; }).isolated);
    EXPECT_EQ(refusal([](auto& t) { t.isolated = true; }),
              "--isolated: without rules nothing is received; give --flow-rules, too");
    EXPECT_EQ(refusal([&](auto& t) { rules(t), t.role = "generator"; }),
              "--flow-rules: only --role sink and loopback have queues that rules send frames to");
    EXPECT_EQ(refusal([&](auto& t) { rules(t), t.software_rss = true; }),
              "--flow-rules: the device spreads frames; leave out --software-rss");
    EXPECT_EQ(refusal([&](auto& t) { rules(t), t.devices = {"eth:lo"}; }),
              "--flow-rules: eth:lo is no port of DPDK (dpdk:), which alone have rules");
}

TEST(PacketPlan, MtuIsWhatTheLargestFrameNeeds) {
    EXPECT_EQ(plan([](auto& t) { t.size = "1518"; }).mtu, 1500);
    EXPECT_EQ(plan([](auto& t) { t.size = "9216"; }).mtu, 9198);
    EXPECT_EQ(plan([](auto& t) { t.size = "1522", t.vlan = "1-3"; }).mtu, 1500);
    EXPECT_EQ(refusal([](auto& t) { t.size = "imix", t.mtu = 1499; }),
              "--size: frames of 1518 bytes are above the MTU of 1499, which allows 1517");
}

TEST(PacketPlan, FramesWithoutASecondsEndByThemselves) {
    EXPECT_FALSE(plan([](auto& t) { t.frames = 100; }).duration);
    EXPECT_EQ(plan([](auto& t) { t.frames = 100, t.seconds = 1.5; }).duration, 1500 * millisecond);
    EXPECT_FALSE(plan([](auto& t) { t.soak = true; }).duration);
}

TEST(PacketPlan, RefusesWhatDoesNotFit) {
    EXPECT_EQ(refusal([](auto& t) { t.devices.clear(); }), "a loopback has one DEVICE or two");
    EXPECT_EQ(refusal([](auto& t) { t.role = "sink", t.devices.push_back("eth:x"); }), "a sink has one DEVICE");
    EXPECT_EQ(refusal([](auto& t) { t.bidirectional = true; }),
              "--bidirectional needs --role loopback and two DEVICEs");
    EXPECT_EQ(refusal([](auto& t) { t.bidirectional = true, t.devices.push_back("eth:x"), t.queues = 200; }),
              "--queues: 400 of both directions are above 256, which stamps can tell apart");
    EXPECT_EQ(refusal([](auto& t) { t.size = "63"; }),
              "--size: 63 is no frame size: give 64 to 9216, several as SIZE:WEIGHT,..., or imix");
    EXPECT_EQ(refusal([](auto& t) { t.ipv6 = true; }),
              "--size: frames of 64 bytes have no room for their headers and the stamp behind them: give 84 or more");
    EXPECT_EQ(refusal([](auto& t) { t.search = "loss", t.role = "sink"; }),
              "--rfc2544 needs --role loopback, which knows what was sent and what arrived");
    EXPECT_EQ(refusal([](auto& t) { t.search = "loss", t.soak = true; }),
              "--rfc2544 decides itself how long to send: leave out --soak and --frames");
    for (const auto* wrong : {"x", "dpdk"}) EXPECT_NE(refusal([=](auto& t) { t.devices = {wrong}; }), "") << wrong;
    EXPECT_NE(refusal([](auto& t) { t.impair = "loss=2"; }), "");
    EXPECT_NE(refusal([](auto& t) { t.rate = "1"; }), "");
    EXPECT_NE(refusal([](auto& t) { t.lcores = "x"; }), "");
    EXPECT_NE(refusal([](auto& t) { t.vlan = "4095"; }), "");
    EXPECT_NE(refusal([](auto& t) { t.source_ip = "fd00::1"; }), "");
}

}  // namespace
}  // namespace verbline::bench
