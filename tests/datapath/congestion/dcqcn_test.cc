// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/congestion/dcqcn.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/congestion/cnp.h"
#include "datapath/congestion/pacer.h"
#include "tests/sim/marking.h"
#include "tests/sim/random.h"

namespace verbline::congestion {
namespace {

constexpr DcqcnParameters parameters;  // 100 Gb/s
constexpr Time round = parameters.increase_interval;
constexpr double gigabit = 1e9, gain = 1.0 / 256;

double gigabits(const Dcqcn& flow) {
    return static_cast<double>(flow.rate_bps()) / gigabit;
}

/// What the rate is half way to (fast recovery, additive and hyper increase alike) when `raise` makes it rise once.
template <class Raise>
double target_of(Dcqcn& flow, Raise raise) {
    const auto before = gigabits(flow);
    raise();
    return 2 * gigabits(flow) - before;
}
constexpr double rounding = 1e-8;  // rates are whole bits per second

TEST(Dcqcn, IsOneCacheLine) {
    EXPECT_LE(sizeof(Dcqcn), 64u);
}

TEST(Dcqcn, SendsAtLineRateUntilTold) {
    Dcqcn flow(parameters);
    flow.sent(1'000'000'000, 5);
    flow.advance(second);
    EXPECT_FALSE(flow.limited());
    EXPECT_EQ(flow.deadline(), std::nullopt);
    EXPECT_EQ(flow.rate_bps(), parameters.line_rate_bps);
}

TEST(Dcqcn, TheFirstNotificationHalvesTheRateAndFastRecoveryHalvesTheDistance) {
    Dcqcn flow(parameters);
    flow.cnp(1000);
    EXPECT_DOUBLE_EQ(gigabits(flow), 50);
    EXPECT_EQ(flow.deadline(), 1000 + round);
    flow.advance(1000 + round - 1);
    EXPECT_DOUBLE_EQ(gigabits(flow), 50) << "not yet";
    const double expected[] = {75, 87.5, 93.75, 96.875, 98.4375, 99.21875};
    for (int i = 0; i < 6; ++i) {
        flow.advance(*flow.deadline());
        EXPECT_DOUBLE_EQ(gigabits(flow), expected[i]);
    }
    const auto target = target_of(flow, [&] { flow.advance(*flow.deadline()); });
    EXPECT_NEAR(target, 100, rounding) << "never above the line";
}

TEST(Dcqcn, IsFreeAgainAtLineRate) {
    Dcqcn flow(parameters);
    flow.cnp(0);
    flow.advance(10 * round);  // 100 - 50 / 2^10 = 99.951: more than 40 Mb/s short
    EXPECT_TRUE(flow.limited());
    flow.advance(11 * round);
    EXPECT_FALSE(flow.limited());
    EXPECT_EQ(flow.rate_bps(), parameters.line_rate_bps);
    flow.cnp(second);
    EXPECT_DOUBLE_EQ(gigabits(flow), 50) << "as a new flow";
}

TEST(Dcqcn, AdditiveIncreaseRaisesTheTarget) {
    Dcqcn flow(parameters);
    flow.cnp(0);
    flow.cnp(0);
    EXPECT_DOUBLE_EQ(gigabits(flow), 25) << "alpha is still one";
    flow.advance(4 * round);
    EXPECT_DOUBLE_EQ(gigabits(flow), 50 - 25.0 / 16);
    flow.advance(5 * round);
    EXPECT_DOUBLE_EQ(gigabits(flow), (48.4375 + 50.04) / 2);
    EXPECT_NEAR(target_of(flow, [&] { flow.advance(6 * round); }), 50.08, rounding);
}

TEST(Dcqcn, BothClocksPastFastRecoveryMakeHyperIncrease) {
    Dcqcn flow(parameters);
    flow.cnp(0);
    flow.cnp(0);
    flow.advance(6 * round);  // six rounds of time: two additive steps
    // Six rounds of bytes: while fewer than F + 1 of them, additive.
    for (int i = 0; i < 4; ++i) flow.sent(10'000'000, 6 * round);
    EXPECT_NEAR(target_of(flow, [&] { flow.sent(10'000'000, 6 * round); }), 50 + 7 * 0.04, rounding);
    const auto rate = flow.rate_bps();
    flow.sent(9'999'999, 6 * round);
    EXPECT_EQ(flow.rate_bps(), rate) << "no round is over";
    EXPECT_NEAR(target_of(flow, [&] { flow.sent(1, 6 * round); }), 50 + 7 * 0.04 + 0.4, rounding);
}

TEST(Dcqcn, ANotificationStartsBothClocksAnew) {
    Dcqcn flow(parameters);
    flow.cnp(0);
    flow.advance(4 * round);
    flow.sent(9'999'999, 4 * round);
    flow.cnp(4 * round + 10);
    const auto rate = flow.rate_bps();
    flow.sent(9'999'999, 4 * round + 20);
    EXPECT_EQ(flow.rate_bps(), rate);
    EXPECT_EQ(flow.deadline(), 5 * round + 10);
    const auto target = target_of(flow, [&] { flow.advance(5 * round + 10); });
    EXPECT_GT(flow.rate_bps(), rate);
    EXPECT_NEAR(target, 96.875, rounding) << "fast recovery again: to where it was";
}

TEST(Dcqcn, AlphaDecaysWhileNobodyComplains) {
    Dcqcn flow(parameters);
    flow.cnp(0);
    flow.cnp(0);
    EXPECT_NEAR(flow.alpha(parameters.alpha_interval - 1), 1, 1e-6);
    EXPECT_NEAR(flow.alpha(parameters.alpha_interval), 1 - gain, 1e-6);
    const auto now = 5 * parameters.alpha_interval;
    const auto alpha = std::pow(1 - gain, 5);
    flow.advance(now);
    const auto rate = gigabits(flow);
    flow.cnp(now);
    EXPECT_NEAR(gigabits(flow), rate * (1 - alpha / 2), 1e-4);
    EXPECT_NEAR(flow.alpha(now), (1 - gain) * alpha + gain, 1e-6);
}

TEST(Dcqcn, NeverFallsBelowTheFloor) {
    Dcqcn flow(parameters);
    for (int i = 0; i < 100; ++i) flow.cnp(i);
    EXPECT_EQ(flow.rate_bps(), parameters.min_rate_bps);
    flow.advance(second);
    EXPECT_FALSE(flow.limited()) << "half a second of additive increase from the floor";
}

TEST(Dcqcn, LookingOftenOrSeldomMakesNoDifference) {
    Dcqcn often(parameters), seldom(parameters);
    for (const Time at : {0, 30'000, 70'000, 1'000'000}) {
        for (Time t = at - 29'000; t < at; t += 1000) often.advance(t);
        often.cnp(at);
        seldom.cnp(at);
        EXPECT_EQ(often.rate_bps(), seldom.rate_bps());
    }
}

/// Flows that always have something to send, through one queue that marks. Packets, not averages, because the marks are
/// chance; no hosts and no headers: this is the algorithm alone.
class Bottleneck {
public:
    static constexpr std::uint32_t packet = 1024;
    static constexpr Time feedback = 8 * microsecond;  ///< from the mark in the switch to the notification's arrival

    Bottleneck(std::size_t flows, const DcqcnParameters& p, const sim::Marking& marking, unsigned seed)
        : parameters_(p), marking_(marking), random_(sim::Seed{seed}) {
        for (std::size_t i = 0; i < flows; ++i) flows_.emplace_back(p).next = static_cast<Time>(i) * millisecond;
    }

    void run(Time until) {
        for (;;) {
            auto& flow = *std::ranges::min_element(flows_, {}, [](const Flow& f) { return f.next; });
            if (flow.next >= until) return;
            const auto now = flow.next;
            deliver_notifications(now);
            send(flow, now);
        }
    }
    void forget_history() {
        for (auto& flow : flows_) flow.bytes = 0;
        peak_ = 0;
    }
    double jain() const {
        double sum = 0, squares = 0;
        for (const auto& flow : flows_) sum += flow.bytes, squares += flow.bytes * flow.bytes;
        return sum * sum / (static_cast<double>(flows_.size()) * squares);
    }
    /// Share of the line over this time.
    double utilisation(Time over) const {
        double bytes = 0;
        for (const auto& flow : flows_) bytes += flow.bytes;
        return bytes * 8 * second / static_cast<double>(over) / static_cast<double>(parameters_.line_rate_bps);
    }
    double peak() const { return peak_; }

private:
    struct Flow {
        explicit Flow(const DcqcnParameters& p) : reaction(p) {}
        Dcqcn reaction;
        CnpLimiter notification;
        Pacer pacer{0};
        Time next = 0;
        double bytes = 0;
    };
    struct Notification {
        Time at;
        Flow* flow;
    };

    void deliver_notifications(Time now) {
        for (; !notifications_.empty() && notifications_.front().at <= now; notifications_.pop_front()) {
            notifications_.front().flow->reaction.cnp(notifications_.front().at);
        }
    }
    void send(Flow& flow, Time now) {
        const auto drained =
            static_cast<double>(now - drained_at_) * static_cast<double>(parameters_.line_rate_bps) / 8e9;
        queue_ = std::max(0.0, queue_ - drained);
        drained_at_ = now;
        if (random_.chance(marking_.probability(static_cast<std::uint64_t>(queue_))) && flow.notification.mark(now)) {
            notifications_.push_back({now + feedback, &flow});
        }
        queue_ += packet;
        peak_ = std::max(peak_, queue_);
        flow.bytes += packet;
        flow.reaction.sent(packet, now);
        flow.reaction.advance(now);
        flow.pacer.sent(packet, flow.reaction.rate_bps(), now);
        flow.next = std::max(now + 1, flow.pacer.ready_at());
    }

    DcqcnParameters parameters_;
    sim::Marking marking_;
    sim::Random random_;
    std::vector<Flow> flows_;
    std::deque<Notification> notifications_;
    double queue_ = 0, peak_ = 0;
    Time drained_at_ = 0;
};

/// How many flows, and the line in Gb/s.
class DcqcnFairness : public testing::TestWithParam<std::tuple<std::size_t, unsigned>> {};

TEST_P(DcqcnFairness, FlowsShareTheLineAndUseIt) {
    constexpr sim::Marking paper{.kmin = 5'000, .kmax = 200'000, .pmax = 0.01};
    const auto [flows, gigabits_per_second] = GetParam();
    DcqcnParameters line = parameters;
    line.line_rate_bps = gigabits_per_second * 1'000'000'000ull;
    Bottleneck bottleneck(flows, line, paper, 1);
    constexpr Time settled = 50 * millisecond, measured = 100 * millisecond;
    bottleneck.run(settled);
    bottleneck.forget_history();
    bottleneck.run(settled + measured);
    RecordProperty("jain", std::to_string(bottleneck.jain()));
    RecordProperty("utilisation", std::to_string(bottleneck.utilisation(measured)));
    EXPECT_GE(bottleneck.jain(), 0.95);
    EXPECT_GE(bottleneck.utilisation(measured), 0.9);
    EXPECT_LT(bottleneck.peak(), 1e6) << "bytes in the queue";
}

INSTANTIATE_TEST_SUITE_P(Flows, DcqcnFairness, testing::Combine(testing::Values(2, 4, 16), testing::Values(40, 100)));

TEST(Dcqcn, IsFreeAfterALongStepOfTime) {
    for (const bool by_sending : {false, true}) {
        Dcqcn flow(parameters);
        for (int i = 0; i < 20; ++i) flow.cnp(second + i * 60 * microsecond);
        EXPECT_LT(gigabits(flow), 1);
        const Time now = 48 * 3600 * second;
        by_sending ? flow.sent(1024, now) : flow.advance(now);
        flow.advance(now);
        EXPECT_FALSE(flow.limited());
        EXPECT_EQ(flow.deadline(), std::nullopt);
        flow.cnp(now);
        EXPECT_DOUBLE_EQ(gigabits(flow), 50) << "the first of a new flow";
    }
}

TEST(Pacer, ALongStepOfTimeIsWorthOneBurst) {
    Pacer pacer(4096);
    pacer.sent(4096, 1'000'000, second);
    const Time now = 48 * 3600 * second;
    for (int i = 0; i < 4; ++i) pacer.sent(1024, 1'000'000, now);
    pacer.sent(1024, 1'000'000, now);
    EXPECT_GT(pacer.ready_at(), now);
}

}  // namespace
}  // namespace verbline::congestion
