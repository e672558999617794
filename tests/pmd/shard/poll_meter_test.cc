// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/shard/poll_meter.h"

#include <memory>

#include <rte_cycles.h>

#include <gtest/gtest.h>

namespace verbline::pmd {
namespace {

constexpr std::uint64_t long_time = 200'000;  // cycles: longer than what the meter itself takes

void pass_time() {
    for (const auto until = rte_rdtsc() + long_time; rte_rdtsc() < until;) {}
}

void poll(PollMeter& meter, bool busy) {
    meter.begin_poll();
    pass_time();
    meter.end_poll(busy);
}

TEST(PollMeter, ChargesEachPollToWhatItFound) {
    PollMeter meter;
    poll(meter, false);
    EXPECT_GE(meter.counters().idle_cycles.value(), long_time);
    EXPECT_EQ(meter.counters().busy_cycles.value(), 0u);
    poll(meter, true);
    EXPECT_TRUE(meter.busy());
    EXPECT_GE(meter.counters().busy_cycles.value(), long_time);
    EXPECT_EQ(meter.counters().polls_busy.value(), 1u);
    EXPECT_EQ(meter.counters().polls_idle.value(), 1u);
    EXPECT_EQ(meter.counters().polls(), 2u);
}

TEST(PollMeter, TimeBetweenPollsIsIdleUnlessTheThreadIsBusy) {
    PollMeter meter;
    poll(meter, true);
    const auto idle = meter.counters().idle_cycles.value(), busy = meter.counters().busy_cycles.value();
    pass_time();
    poll(meter, true);
    EXPECT_EQ(meter.counters().idle_cycles.value(), idle);
    EXPECT_GE(meter.counters().busy_cycles.value(), busy + 2 * long_time);
    poll(meter, false);
    const auto before = meter.counters().idle_cycles.value();
    pass_time();
    poll(meter, true);
    EXPECT_GE(meter.counters().idle_cycles.value(), before + long_time);
}

TEST(PollMeter, SleepIsNeither) {
    PollMeter meter;
    poll(meter, false);
    const auto idle = meter.counters().idle_cycles.value();
    meter.begin_sleep(true);
    pass_time();
    meter.end_sleep();
    EXPECT_GE(meter.counters().asleep_cycles.value(), long_time);
    EXPECT_LT(meter.counters().idle_cycles.value(), idle + long_time);
    EXPECT_EQ(meter.counters().waits.value(), 1u);
    meter.begin_sleep(false);
    meter.end_sleep();
    EXPECT_EQ(meter.counters().waits.value(), 1u) << "a nap waits for nothing";
}

TEST(PollMeter, RecordsARestAsOneThoughItIsOfManySleeps) {
    const auto ring = std::make_unique<TraceRing>();
    PollMeter meter{Trace(ring.get())};
    poll(meter, true);
    for (int i = 0; i < 3; ++i) {
        poll(meter, false);
        meter.begin_sleep(false);
        meter.end_sleep();
    }
    poll(meter, true);
    poll(meter, true);
    ASSERT_EQ(ring->recorded(), 2u);
    EXPECT_EQ((*ring)[0].event, TraceEvent::resting);
    EXPECT_EQ((*ring)[1].event, TraceEvent::awake);
}

}  // namespace
}  // namespace verbline::pmd
