// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/cm_plan.h"

namespace verbline::sim {
namespace {

template <class T, std::size_t n>
T pick(Random& random, const T (&values)[n]) {
    return values[random.below(n)];
}

/// Mostly few, so that they meet; sometimes many.
unsigned make_nodes(Random& random) {
    if (random.chance(0.02)) return static_cast<unsigned>(20 + random.below(81));
    return static_cast<unsigned>(random.chance(0.5) ? 2 : 2 + random.below(7));
}

void make_network(Random& random, CmPlan& plan) {
    plan.delay = pick<Time>(random, {1000, millisecond, 50 * millisecond});
    plan.loss = pick(random, {0.0, 0.05, 0.2, 0.4});
    plan.duplicate = pick(random, {0.0, 0.0, 0.1, 0.4});
    plan.late = pick(random, {0.0, 0.1, 0.5});
    plan.lateness = plan.harsh ? pick<Time>(random, {second, 5 * second, 15 * second}) : 200 * millisecond;
    if (plan.harsh && random.chance(0.3)) plan.loss = 0.7;
}

}  // namespace

CmPlan make_cm_plan(Random& random) {
    CmPlan plan;
    plan.harsh = random.chance(0.35);
    plan.restarts = random.chance(0.25);
    plan.amnesia = plan.restarts && random.chance(0.3);
    plan.nodes = make_nodes(random);
    plan.attempts = static_cast<unsigned>(plan.nodes + random.below(30));
    plan.busy = pick<Time>(random, {second, 10 * second, 60 * second});
    make_network(random, plan);
    plan.one_seed = random.chance(0.4);
    plan.ids_wrap = random.chance(0.2);
    plan.listeners_leave = random.chance(0.3);
    plan.drops = pick(random, {0.0, 0.1, 0.3});
    plan.mistakes = pick(random, {0.0, 0.1});
    plan.thought = pick<Time>(random, {0, 10 * millisecond, 3 * second});
    plan.laziness = pick<Time>(random, {0, 0, 100 * millisecond, 2 * second});
    plan.skew = pick<Time>(random, {0, millisecond});
    return plan;
}

}  // namespace verbline::sim
