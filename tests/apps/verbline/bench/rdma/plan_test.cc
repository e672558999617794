// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/plan.h"

#include <gtest/gtest.h>

#include "apps/verbline/bench/rdma/messages.h"

namespace verbline::rdma_bench {
namespace {

Result<RdmaPlan> made(auto&& change) {
    RdmaTexts texts{.link = "memif:x", .server = "10.0.0.1"};
    change(texts);
    return make_plan(texts);
}
RdmaPlan plan(auto&& change) {
    return made(change).value();
}
std::string refusal(auto&& change) {
    const auto result = made(change);
    return result ? "" : result.error().what;
}

TEST(RdmaPlan, DefaultsArePerftests) {
    const auto write = plan([](auto&) {});
    EXPECT_EQ(write.role, Role::client);
    EXPECT_EQ(write.spec.operation, Operation::write);
    EXPECT_EQ(write.spec.transport, Transport::rc);
    EXPECT_EQ(write.spec.tx_depth, 128u);
    EXPECT_EQ(write.rounds, (std::vector<Round>{{.size = 65536, .iterations = 5000, .cq_moderation = 1}}));
    const auto small = plan([](auto& t) { t.operation = "send", t.size = 64; });
    EXPECT_EQ(small.rounds, (std::vector<Round>{{.size = 64, .iterations = 1000, .cq_moderation = 100}}));
    const auto latency = plan([](auto& t) { t.latency = true; });
    EXPECT_EQ(latency.spec.tx_depth, 1u);
    EXPECT_EQ(latency.rounds, (std::vector<Round>{{.size = 2, .iterations = 1000, .cq_moderation = 1}}));
    const auto atomic = plan([](auto& t) { t.operation = "atomic", t.atomic = "CMP_AND_SWAP"; });
    EXPECT_EQ(atomic.spec.operation, Operation::compare_swap);
    EXPECT_EQ(atomic.rounds.front().size, 8u);
}

TEST(RdmaPlan, RolesFollowFromWhatIsGiven) {
    EXPECT_EQ(plan([](auto& t) { t.server.clear(); }).role, Role::server);
    const auto both = plan([](auto& t) { t.server.clear(), t.both = "memif:x,server"; });
    EXPECT_EQ(both.role, Role::both);
    EXPECT_EQ(both.links.size(), 2u);
}

TEST(RdmaPlan, LinksAreThoseOfPrograms) {
    const auto linked = [](const char* text) { return plan([text](auto& t) { t.link = text; }).links.front(); };
    EXPECT_EQ(linked("hub:a"), verbs::Link(verbs::HubLink{"a"}));
    EXPECT_EQ(linked("node:a"), verbs::Link(verbs::NodeLink{"a"}));
    EXPECT_EQ(linked("eth:eth1"), verbs::Link(pmd::EthernetSpec{"eth1"}));
}

TEST(RdmaPlan, FabricsHaveTheirOwnAddressesAndNoRoce) {
    const auto on_fabric = [](auto&& change) {
        return [change](RdmaTexts& texts) {
            texts.link = "ib:H1@a", texts.server = "fe80::10:3";
            change(texts);
        };
    };
    EXPECT_EQ(plan(on_fabric([](auto&) {})).links.front(), verbs::Link(verbs::InfinibandLink{"H1", "a"}));
    EXPECT_EQ(refusal(on_fabric([](auto& t) { t.roce = "v2"; })),
              "--roce: ib:H1@a is on a fabric, which has no RoCE: leave --roce out");
    EXPECT_EQ(refusal(on_fabric([](auto& t) { t.addresses = {"10.1.0.1/24"}; })),
              "--ip: the port of ib:H1@a has a GID of its fabric's: leave --ip out");
    EXPECT_EQ(refusal(on_fabric([](auto& t) { t.server = "10.0.0.1"; })),
              "10.0.0.1: on a fabric the server is named by the GID that it prints, such as fe80::10:3");
}

TEST(RdmaPlan, TheServiceHasPerftestsPortNumber) {
    EXPECT_EQ(plan([](auto&) {}).port_number, 18515);
    EXPECT_EQ(plan([](auto& t) { t.port_number = 65535; }).port_number, 65535);
}

TEST(RdmaPlan, AllIsEverySizeAndOfDatagramsUpToTheMtu) {
    const auto all = plan([](auto& t) { t.all = true; });
    EXPECT_EQ(all.rounds.size(), 23u);
    EXPECT_EQ(all.rounds.front().size, 2u);
    EXPECT_EQ(all.spec.largest, 8388608u);
    EXPECT_EQ(all.rounds.back().cq_moderation, 100u);
    auto datagrams = plan([](auto& t) { t.all = true, t.operation = "send", t.transport = "UD", t.mtu = 2048; });
    EXPECT_EQ(datagrams.spec.largest, 2048u);
    ASSERT_TRUE(fit(datagrams, 1024));
    EXPECT_EQ(datagrams.spec.largest, 1024u);
    EXPECT_EQ(datagrams.rounds.size(), 10u);
}

TEST(RdmaPlan, ADatagramWithoutASizeIsAsLargeAsThePath) {
    auto usual = plan([](auto& t) { t.operation = "send", t.transport = "UD"; });
    EXPECT_EQ(usual.rounds.front().size, 4096u);
    ASSERT_TRUE(fit(usual, 1024));
    EXPECT_EQ(usual.rounds.front().size, 1024u);
    auto given = plan([](auto& t) { t.operation = "send", t.transport = "UD", t.size = 2000; });
    EXPECT_EQ(fit(given, 1024).error().what, "--size: a datagram is of 1024 bytes at most, the path MTU");
}

TEST(RdmaPlan, CompletionsLeaveRoomForAList) {
    const auto lists = plan([](auto& t) { t.size = 64, t.post_list = 64; });
    EXPECT_EQ(lists.rounds.front().cq_moderation, 65u);
    EXPECT_EQ(plan([](auto& t) { t.size = 64, t.tx_depth = 8; }).rounds.front().cq_moderation, 8u);
}

TEST(RdmaPlan, AServerTakesEveryPlan) {
    for (const auto* const operation : {"send", "write", "read", "atomic"}) {
        for (const auto* const transport : {"RC", "UC", "UD", "XRC"}) {
            for (const bool latency : {false, true}) {
                const auto each = made([&](auto& t) {
                    t.operation = operation, t.transport = transport, t.latency = latency, t.iterations = 3;
                });
                if (!each) continue;
                const auto spec = Hello::of(each->spec).spec();
                ASSERT_EQ(spec, each->spec) << operation << transport;
                for (const auto& round : each->rounds) EXPECT_EQ(Begin::of(round).round(*spec), round);
            }
        }
    }
}

TEST(RdmaPlan, RefusesWhatDoesNotFit) {
    EXPECT_EQ(refusal([](auto& t) { t.link.clear(); }), "no LINK given, such as eth:eth1");
    EXPECT_EQ(refusal([](auto& t) { t.both = "memif:x"; }), "--both has the server in this process: leave SERVER out");
    EXPECT_EQ(refusal([](auto& t) { t.server = "x"; }), "x is no IPv4 or IPv6 address of a server");
    EXPECT_EQ(refusal([](auto& t) { t.addresses = {"10.0.0.1/33"}; }),
              "--ip: 10.0.0.1/33 is no address such as 10.1.0.1/24 or fd00::1/64");
    EXPECT_EQ(refusal([](auto& t) { t.transport = "UD"; }), "--transport UD has no operation but send");
    EXPECT_EQ(refusal([](auto& t) { t.transport = "UC", t.operation = "read"; }), "--transport UC has no read");
    EXPECT_EQ(refusal([](auto& t) { t.latency = true, t.pairs = 2; }),
              "--latency is of one message at a time: leave out --bidirectional, --qps and --post-list");
    EXPECT_EQ(refusal([](auto& t) { t.post_list = 129; }),
              "--post-list: 129 requests do not fit into a send queue of 128; see --tx-depth");
    EXPECT_EQ(refusal([](auto& t) { t.all = true, t.size = 2; }), "--all is every size: leave --size out");
    EXPECT_EQ(refusal([](auto& t) { t.operation = "atomic", t.size = 16; }),
              "an atomic is of 8 bytes: leave --size and --all out");
    EXPECT_EQ(refusal([](auto& t) { t.iterations = 5, t.duration = 1; }),
              "--iterations and --duration exclude each other");
    EXPECT_EQ(refusal([](auto& t) { t.pairs = 1024, t.size = 1 << 20; }),
              "--qps: 1024 queue pairs with messages of 1048576 bytes need more than 1 GiB");
    EXPECT_EQ(refusal([](auto& t) { t.pairs = 1024, t.size = 8, t.rx_depth = 1025; }),
              "--qps: the queues of 1024 queue pairs are above 1048576 requests in all; see --tx-depth and --rx-depth");
    EXPECT_EQ(refusal([](auto& t) { t.operation = "send", t.transport = "UD", t.size = 5000; }),
              "--size: a datagram is of 4096 bytes at most, the path MTU");
    EXPECT_NE(refusal([](auto& t) { t.link = "x"; }), "");
    EXPECT_NE(refusal([](auto& t) { t.lcores = "x"; }), "");
    EXPECT_NE(refusal([](auto& t) { t.impair = "loss=2"; }), "");
}

}  // namespace
}  // namespace verbline::rdma_bench
