// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// One to 64 queue pairs between two programs, all writing at once, on every kind of link and at every path MTU, with
/// and without loss: every one completes, and no buffer stays behind.

#include <algorithm>
#include <array>
#include <memory>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/apps/libibverbs/port/joined_programs.h"
#include "tests/support/counter.h"
#include "tests/support/eal.h"
#include "tests/support/packet.h"

namespace verbline::verbs {
namespace {

using verbs::test::JoinedPrograms, verbs::test::LinkKind, verbs::test::Pools;

#ifdef SANITIZED
constexpr std::array queue_pairs{1u, 16u};  // the release build has them all
#else
constexpr std::array queue_pairs{1u, 2u, 4u, 8u, 16u, 32u, 64u};
#endif
constexpr std::array mtus{256u, 512u, 1024u, 2048u, 4096u};
constexpr std::array losses{0.0, 0.001, 0.01, 0.05};
constexpr std::array link_names{"memif", "hub", "eth", "fabric"};

constexpr unsigned messages = 2;  ///< of each queue pair
/// Of each message. All together more than a program has buffers, where there are many; else as many as one may send.
constexpr std::uint32_t message_packets(unsigned pairs) {
    return std::clamp(4096 / pairs, 64u, 512u);
}
constexpr Time limit = 20 * second;  ///< of virtual time

constexpr auto rights = memory::Access::local_write | memory::Access::remote_write;

/// All that one program has of its connections.
struct Program {
    Program(rdma::Device& device, std::size_t bytes, unsigned pairs)
        : pd(device.allocate_pd()),
          data(bytes),
          region(*device.register_memory(pd, data, rights)),
          completions(device.create_cq(messages * pairs)) {
        for (unsigned i = 0; i < pairs; ++i) {
            all.push_back(*device.create_queue_pair({.type = transport::QueuePairType::rc,
                                                     .pd = pd,
                                                     .send_completions = completions.get(),
                                                     .receive_completions = completions.get(),
                                                     .send = {.requests = messages, .segments = 1},
                                                     .receive = {.requests = 1, .segments = 1}}));
        }
    }

    memory::PdId pd;
    std::vector<std::byte> data;
    rdma::MemoryRegion region;
    std::unique_ptr<transport::CompletionQueue> completions;
    std::vector<std::unique_ptr<rdma::QueuePair>> all;
};

void connect(Program& program, const Program& peer, const rdma::Path& path, std::uint32_t mtu) {
    for (std::size_t i = 0; i < program.all.size(); ++i) {
        auto& pair = *program.all[i];
        ASSERT_TRUE(pair.init({.access = rights}));
        ASSERT_TRUE(pair.ready_to_receive({.remote = peer.all[i]->qpn(),
                                           .path = path,
                                           .mtu = mtu,
                                           .first = wire::Psn(0xffff00),
                                           .selective_ack = true}));
        // As perftest has them.
        ASSERT_TRUE(pair.ready_to_send({.first = wire::Psn(0xffff00), .timeout = 14, .retries = 7}));
    }
}

void post(Program& from, const Program& to) {
    const transport::Segment segment{reinterpret_cast<std::uint64_t>(from.data.data()),
                                     static_cast<std::uint32_t>(from.data.size()), from.region.lkey()};
    for (unsigned message = 0; message < messages; ++message) {
        for (auto& pair : from.all) {
            ASSERT_TRUE(pair->post({.segments = {&segment, 1},
                                    .operation = transport::SendOperation::write,
                                    .flags = transport::send_signalled,
                                    .remote_address = reinterpret_cast<std::uint64_t>(to.data.data()),
                                    .rkey = to.region.rkey()}));
        }
    }
}

struct Outcome {
    Time time = 0;
    std::uint64_t packets = 0, needed = 0, hub_drops = 0, evicted = 0, refused = 0, expired = 0, early = 0,
                  timeouts = 0;
};

Outcome outcome_of(JoinedPrograms& joined) {
    const auto of = [&](unsigned program, const char* name) {
        return verbline::test::counter(joined.device(program), name);
    };
    return {.time = joined.now(),
            .packets = of(0, "tx_packets"),
            .hub_drops = joined.dropped_by_hub(),
            .evicted = of(1, "rx_dropped_reorder_evicted"),
            .refused = of(1, "rx_dropped_reorder_full"),
            .expired = of(1, "rx_dropped_reorder_expired"),
            .early = of(0, "roce_adp_retrans"),
            .timeouts = of(0, "local_ack_timeout_err")};
}

/// Runs until all is complete; throws nothing, fails the test.
Outcome run(Pools& pools, LinkKind link, unsigned pairs, std::uint32_t mtu, double loss) {
    Outcome outcome;
    {
        JoinedPrograms joined(pools, {.link = link, .loss = loss, .seed = pairs * 7 + mtu});
        Program a(joined.device(0), std::size_t{message_packets(pairs)} * mtu, pairs);
        Program b(joined.device(1), std::size_t{message_packets(pairs)} * mtu, pairs);
        std::ranges::copy(verbline::test::pattern(a.data.size(), pairs), a.data.begin());
        connect(a, b, joined.path_to(1), mtu);
        connect(b, a, joined.path_to(0), mtu);
        post(a, b);
        std::size_t complete = 0;
        std::array<transport::Completion, 64> completions;
        while (complete < std::size_t{pairs} * messages && joined.now() < limit) {
            joined.round();
            for (auto n = a.completions->poll(completions); n > 0; --n, ++complete) {
                EXPECT_EQ(completions[n - 1].status, transport::Status::success) << text(completions[n - 1].status);
            }
        }
        EXPECT_EQ(complete, std::size_t{pairs} * messages);
        EXPECT_TRUE(std::ranges::equal(a.data, b.data));
        outcome = outcome_of(joined);
        outcome.needed = std::uint64_t{pairs} * messages * message_packets(pairs);
    }
    // Where nothing can be lost nobody waits for a timer: of those that may not send now, each has its turn.
    if (link == LinkKind::memif && loss == 0) {
        EXPECT_EQ(outcome.early, 0u);
    }
    EXPECT_TRUE(pools.full()) << "buffers were not given back";
    return outcome;
}

class ManyQueuePairs : public testing::TestWithParam<std::tuple<unsigned, unsigned>> {
protected:
    static void SetUpTestSuite() { pools = std::make_unique<Pools>(); }
    static void TearDownTestSuite() { pools.reset(); }

    static inline std::unique_ptr<Pools> pools;
};

TEST_P(ManyQueuePairs, Complete) {
    const auto [link, mtu_index] = GetParam();
    const auto mtu = mtus[mtu_index];
    for (const auto loss : losses) {
        for (const auto pairs : queue_pairs) {
            SCOPED_TRACE(fmt::format("{} queue pairs, loss {} %", pairs, loss * 100));
            const auto outcome = run(*pools, LinkKind{static_cast<std::uint8_t>(link)}, pairs, mtu, loss);
            fmt::print(
                "{:<7} MTU {:>4} loss {:>4g} % QPs {:>2}: {:>7.2f} ms, sent {:.2f} times, hub dropped {:>5}, "
                "evicted {:>4}, refused {:>4}, expired {:>2}, timeouts {:>2}\n",
                link_names[link], mtu, loss * 100, pairs, static_cast<double>(outcome.time) / millisecond,
                static_cast<double>(outcome.packets) / static_cast<double>(outcome.needed), outcome.hub_drops,
                outcome.evicted, outcome.refused, outcome.expired, outcome.timeouts);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(OnEveryLink, ManyQueuePairs,
                         testing::Combine(testing::Range(0u, static_cast<unsigned>(link_names.size())),
                                          testing::Range(0u, static_cast<unsigned>(mtus.size()))),
                         [](const auto& each) {
                             return fmt::format("{}_{}", link_names[std::get<0>(each.param)],
                                                mtus[std::get<1>(each.param)]);
                         });

}  // namespace
}  // namespace verbline::verbs
