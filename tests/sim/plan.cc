// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/plan.h"

#include <algorithm>
#include <iterator>

namespace verbline::sim {
namespace {

using transport::QueuePairType;

template <class T, std::size_t n>
T pick(Random& random, const T (&values)[n]) {
    return values[random.below(n)];
}

Trouble make_trouble(Random& random) {
    if (random.chance(0.15)) return {};
    Trouble trouble{.duplicates = random.chance(0.4),
                    .reorders = random.chance(0.4),
                    .loses = random.chance(0.7),
                    .kills = random.chance(0.35),
                    .mistakes = random.chance(0.25),
                    .blackouts = random.chance(0.15)};
    trouble.harsh = trouble.loses && random.chance(0.1);
    return trouble;
}

Faults make_faults(Random& random, const Trouble& trouble, Time end) {
    Faults faults;
    if (trouble.loses) {
        faults.random.loss = trouble.harsh ? 0.15 : pick(random, {0.0, 0.001, 0.01, 0.03});
        faults.random.corrupt = pick(random, {0.0, 0.0, 0.01});
    }
    if (trouble.duplicates) faults.random.duplicate = pick(random, {0.001, 0.01, 0.1});
    if (trouble.reorders) {
        faults.random.reorder = pick(random, {0.001, 0.01, 0.05});
        faults.reorder_hold = pick<Time>(random, {1000, 20'000, 100'000});
        if (random.chance(0.3)) faults.random.jitter = pick<Time>(random, {500, 5000, 50'000});
    }
    if (trouble.blackouts && random.chance(0.6)) {
        const auto from = static_cast<Time>(random.below(static_cast<std::uint64_t>(end)));
        faults.blackouts.push_back({from, from + static_cast<Time>(random.below(50)) * millisecond});
    }
    return faults;
}

HostSetup make_host(Random& random, const Trouble& trouble, Time end, bool large) {
    HostSetup host;
    host.shards = random.chance(0.3) ? 2 : 1;
    host.max_queue_pairs = large ? 4096 : 128;
    host.max_kept_packets = pick(random, {4u, 64u, 4096u, 4096u});
    host.ecn = random.chance(0.7);
    auto& port = host.port;
    port.rate_bps = pick<std::uint64_t>(random, {0, 1'000'000'000, 10'000'000'000, 100'000'000'000});
    port.delay = pick<Time>(random, {0, 300, 1000, 10'000, 50'000});
    port.queue_limit = calm_queue;
    if (trouble.loses && random.chance(0.3)) port.receive_ring = pick<std::size_t>(random, {8, 64, 512});
    if (trouble.loses && random.chance(0.3)) port.queue_limit = pick<std::uint64_t>(random, {20'000, 100'000});
    if (random.chance(0.3)) port.marking = {.kmin = 5'000, .kmax = 200'000, .pmax = 0.1};
    port.out = make_faults(random, trouble, end);
    port.in = make_faults(random, trouble, end);
    return host;
}

rdma::ReadyToSend make_send(Random& random, const Trouble& trouble) {
    return {.first = wire::Psn(static_cast<std::uint32_t>(random.chance(0.3) ? 0xff'fff0 : random.below(1 << 24))),
            .timeout = pick<std::uint8_t>(random, {10, 11, 12, 14}),
            .retries = trouble.may_die() ? pick<std::uint8_t>(random, {0, 1, 3, 7}) : std::uint8_t{7},
            .rnr_retries = trouble.kills && random.chance(0.2) ? std::uint8_t{2} : std::uint8_t{7},
            .window = pick<std::uint16_t>(random, {2, 3, 8, 64, 512, 1024}),
            .adaptive = random.chance(0.7)};
}

QueuePairType make_type(Random& random) {
    const auto n = random.below(10);
    return n < 5   ? QueuePairType::rc
           : n < 7 ? QueuePairType::xrc_initiator
           : n < 8 ? QueuePairType::uc
                   : QueuePairType::ud;
}

PairPlan make_pair(Random& random, const Plan& plan, bool large) {
    PairPlan pair{.type = make_type(random)};
    for (auto& host : pair.hosts) host = static_cast<unsigned>(random.below(plan.hosts.size()));
    pair.gid_index = pick(random, {0u, 3u, 5u});
    pair.mtu = pick(random, {256u, 512u, 1024u, 2048u, 4096u});
    pair.max_reads = pick<std::uint8_t>(random, {1, 2, 4, 16});
    pair.selective = random.chance(0.6);
    pair.depth = large ? 4 : pick(random, {2u, 8u, 32u, 64u});
    pair.largest = large ? 600 : pick(random, {64u, 1500u, 9000u, 9000u, 65536u});
    pair.messages = static_cast<std::uint32_t>(large ? 1 + random.below(2) : 1 + random.below(40));
    if (!large && random.chance(0.01)) pair.largest = 1 << 20, pair.messages = std::min(pair.messages, 4u);
    pair.pause = pick<Time>(random, {500, 10'000, 100'000});
    for (unsigned half = 0; half < 2; ++half) {
        pair.send[half] = make_send(random, plan.trouble);
        pair.send[half].max_reads = pair.max_reads;
        pair.rnr_timer[half] = static_cast<std::uint8_t>(1 + random.below(12));
        pair.credits[half] = random.chance(0.3);
        pair.late[half] = random.chance(0.3);
        pair.shared[half] =
            pair.type == QueuePairType::xrc_initiator || (pair.type != QueuePairType::uc && random.chance(0.25));
        if (pair.shared[half]) pair.largest = std::min(pair.largest, plan.shared_largest);
    }
    return pair;
}

}  // namespace

Plan make_plan(Seed seed) {
    Random random(seed);
    Plan plan;
    plan.trouble = make_trouble(random);
    plan.trouble_ends = pick<Time>(random, {1, 5, 20}) * millisecond;
    plan.shared_largest = pick(random, {1024u, 9000u});
    const bool large = random.chance(0.002);
    const auto hosts = 2 + random.below(5);
    for (unsigned i = 0; i < hosts; ++i) {
        plan.hosts.push_back(make_host(random, plan.trouble, plan.trouble_ends, large));
    }
    const auto pairs = large ? 500 : 1 + random.below(random.chance(0.2) ? 20 : 5);
    // What a schedule may cost, in packets, is shared out.
    auto packets = static_cast<std::int64_t>(random.chance(0.05) ? 12'000 : 2'200);
    for (unsigned i = 0; i < pairs && packets > 0; ++i) {
        auto pair = make_pair(random, plan, large);
        const auto each = static_cast<std::int64_t>(pair.largest / pair.mtu / 4 + 2);
        pair.messages = static_cast<std::uint32_t>(std::clamp<std::int64_t>(packets / each / 2, 1, pair.messages));
        packets -= large ? 0 : each * pair.messages * 2;
        plan.pairs.push_back(pair);
    }
    return plan;
}

}  // namespace verbline::sim
