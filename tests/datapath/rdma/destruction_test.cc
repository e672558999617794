// SPDX-License-Identifier: BSD-3-Clause
// Every object destroyed while packets for it are under way, in every order that the API allows: random schedules.
#include <cinttypes>
#include <cstdio>

#include <gtest/gtest.h>

#include "tests/datapath/rdma/destruction_program.h"
#include "tests/support/eal.h"

namespace verbline::destruction {
namespace {

constexpr std::uint64_t schedules_per_case = 100, cases = 20;

struct Summary {
    std::uint64_t schedules = 0, under_traffic = 0, completed = 0, succeeded = 0;
    Counts destroyed;

    void add(const Program& program) {
        under_traffic += program.under_traffic(), completed += program.completed();
        succeeded += program.succeeded();
        for (const auto& [kind, count] : program.destroyed()) destroyed[kind] += count;
    }
};

class Schedule {
public:
    explicit Schedule(sim::Seed seed) : random_(seed), world_(seed, *test::packet_pool()) {
        for (int i = 0; i < 2; ++i) {
            hosts_.push_back(&world_.add_host({.port = {.rate_bps = 5'000'000'000, .delay = microsecond},
                                               .shards = 1 + static_cast<unsigned>(random_.below(2)),
                                               .max_queue_pairs = 64}));
            programs_.push_back(std::make_unique<Program>(world_, *hosts_.back(), random_));
        }
    }

    std::string run(Summary& sum) {
        for (int i = 0; i < 6; ++i) make_connection();
        for (int step = 0; step < 300; ++step) act();
        std::string fault;
        for (auto& program : programs_) {
            program->destroy_all();
            if (fault.empty()) fault = program->fault();
            sum.add(*program);
        }
        ++sum.schedules;
        return fault;
    }

private:
    void act() {
        auto &program = *programs_[random_.below(2)],
             &other = &program == programs_[0].get() ? *programs_[1] : *programs_[0];
        switch (random_.below(20)) {
            case 0: return make_connection();
            case 1:
            case 2: return program.make_part();
            case 3:
            case 4: static_cast<void>(program.destroy_one()); return;
            case 5: return program.change_state();
            case 6: return spoil();
            case 7:
            case 8: return program.poll();
            case 9:
            case 10:
            case 11: return program.post_receives();
            case 12:
            case 13:
                return world_.run_for(
                    static_cast<Time>(random_.below(random_.chance(0.1) ? millisecond : 30 * microsecond)));
            default: return program.post(other.offer());
        }
    }

    void make_connection() {
        using enum QueuePairType;
        const auto from = random_.below(2), to = 1 - from;
        const auto type = static_cast<QueuePairType>(random_.below(4));
        const auto a = programs_[from]->make(type);
        const auto b = programs_[to]->make(type == xrc_initiator ? xrc_target : type);
        programs_[from]->connect(*a, b->qpn(), *hosts_[to]);
        programs_[to]->connect(*b, a->qpn(), *hosts_[from]);
    }

    /// The link of a host loses packets, stands still, or is well again.
    void spoil() {
        auto& setup = hosts_[random_.below(2)]->port().setup();
        setup.out.random.loss = random_.chance(0.2) ? 0.1 : 0;
        setup.transmit_limit = random_.chance(0.1) ? 0 : 128 * 1024;
    }

    sim::Random random_;
    sim::World world_;
    std::vector<sim::Host*> hosts_;
    std::vector<std::unique_ptr<Program>> programs_;
};

class Destruction : public testing::TestWithParam<std::uint64_t> {
protected:
    static void TearDownTestSuite() {
        std::printf("%" PRIu64 " schedules, %" PRIu64 " completions (%" PRIu64 " of success), %" PRIu64
                    " queue pairs destroyed with packets under way; destroyed:",
                    sum.schedules, sum.completed, sum.succeeded, sum.under_traffic);
        for (const auto& [kind, count] : sum.destroyed) {
            std::printf(" %" PRIu64 " %.*s,", count, static_cast<int>(kind.size()), kind.data());
        }
        std::printf(" and their devices\n");
    }

    static inline Summary sum;
};

TEST_P(Destruction, LeavesNothingBehind) {
    for (auto seed = GetParam(); seed < GetParam() + schedules_per_case; ++seed) {
        ASSERT_EQ(Schedule(sim::Seed{seed}).run(sum), "") << "seed " << seed;
        ASSERT_EQ(rte_mempool_in_use_count(test::packet_pool()), 0u) << "seed " << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Destruction,
                         testing::Range<std::uint64_t>(0, cases* schedules_per_case, schedules_per_case));

}  // namespace
}  // namespace verbline::destruction
