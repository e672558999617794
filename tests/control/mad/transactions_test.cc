// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/transactions.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "datapath/wire/sa.h"

namespace verbline::mad {
namespace {

MadBuffer request(wire::SaAttribute attribute = wire::SaAttribute::path_record) {
    MadBuffer mad{};
    wire::Mad{.management_class = wire::MadClass::subnet_administration,
              .class_version = wire::sa_class_version,
              .method = wire::MadMethod::get,
              .attribute = static_cast<std::uint16_t>(attribute)}
        .emit(std::span(mad).first<wire::Mad::size>());
    return mad;
}

MadBuffer response(const MadBuffer& to, std::uint16_t status = 0) {
    auto mad = to;
    wire::store8(mad, 3, static_cast<std::uint8_t>(wire::MadMethod::get_response));
    wire::store16(mad, 4, status);
    return mad;
}

std::uint32_t tid(const MadBuffer& mad) {
    return wire::load32(mad, 12);
}

class TransactionsTest : public testing::Test {
protected:
    Ticket start(Time now, const Patience& patience = {.timeout = 100, .limit = 300, .retries = 3}) {
        return *engine.start(request(), {}, patience, now, actions);
    }
    /// The Sends since the last call.
    std::vector<Transactions::Send> sends() {
        std::vector<Transactions::Send> list;
        for (const auto& action : actions) {
            if (const auto* send = std::get_if<Transactions::Send>(&action)) list.push_back(*send);
            if (const auto* done = std::get_if<Transactions::Done>(&action)) finished.push_back(*done);
        }
        actions.clear();
        return list;
    }

    Transactions engine{0xffff'fffe};
    Transactions::Actions actions;
    std::vector<Transactions::Done> finished;
};

TEST_F(TransactionsTest, RepeatsTheSameMadWaitingTwiceAsLongEachTime) {
    start(0);
    const auto first = sends().at(0).mad;
    std::vector<Time> waits;
    Time last = 0;
    while (engine.deadline()) {
        const Time now = *engine.deadline();
        waits.push_back(now - last);
        last = now;
        engine.tick(now, actions);
        for (const auto& send : sends()) EXPECT_EQ(send.mad, first);
    }
    EXPECT_EQ(waits, (std::vector<Time>{100, 200, 300, 300}));
    ASSERT_EQ(finished.size(), 1u);
    EXPECT_FALSE(finished[0].response);
    EXPECT_EQ(engine.counters().timeouts.value(), 1u);
    EXPECT_EQ(engine.counters().retries.value(), 3u);
}

TEST_F(TransactionsTest, MatchesByTheLowHalfOfTheTransactionId) {
    const auto ticket = start(0);
    auto answer = response(sends().at(0).mad);
    wire::store32(answer, 8, 0x0003'0001);  // what ibsim and the kernel write there is theirs
    engine.received(answer, 10, actions);
    sends();
    ASSERT_EQ(finished.size(), 1u);
    EXPECT_EQ(finished[0].ticket, ticket);
    EXPECT_EQ(finished[0].response, answer);
    EXPECT_FALSE(engine.deadline());
}

TEST_F(TransactionsTest, TransactionIdsWrapAround) {
    for (int i = 0; i < 4; ++i) start(0);
    std::vector<std::uint32_t> ids;
    for (const auto& send : sends()) ids.push_back(tid(send.mad));
    EXPECT_EQ(ids, (std::vector<std::uint32_t>{0xffff'fffe, 0xffff'ffff, 0, 1}));
}

TEST_F(TransactionsTest, CountsStrayResponsesByReason) {
    start(0);
    const auto answer = response(sends().at(0).mad);
    engine.received(answer, 1, actions);
    engine.received(answer, 2, actions);
    EXPECT_EQ(engine.counters().rx_dropped_duplicate_response.value(), 1u);

    start(10, {.timeout = 100, .limit = 100, .retries = 0});
    sends();
    const auto late = response(request());
    auto copy = late;
    wire::store32(copy, 12, 0xffff'ffff);
    engine.tick(200, actions);
    engine.received(copy, 201, actions);
    EXPECT_EQ(engine.counters().rx_dropped_late_response.value(), 1u);

    wire::store32(copy, 12, 0x1234'5678);
    engine.received(copy, 202, actions);
    EXPECT_EQ(engine.counters().rx_dropped_unknown_tid.value(), 1u);
    sends();
    EXPECT_EQ(finished.size(), 2u) << "strays end nothing";
}

TEST_F(TransactionsTest, DropsResponseWithOtherAttribute) {
    start(0);
    auto answer = response(sends().at(0).mad);
    wire::store16(answer, 16, static_cast<std::uint16_t>(wire::SaAttribute::node_record));
    engine.received(answer, 1, actions);
    EXPECT_EQ(engine.counters().rx_dropped_mismatched_response.value(), 1u);
    EXPECT_EQ(engine.outstanding(), 1u);
}

TEST_F(TransactionsTest, RetriesLaterAfterBusyStatus) {
    start(0, {.timeout = 100, .limit = 100, .retries = 1});
    const auto sent = sends().at(0).mad;
    engine.received(response(sent, 0x0001), 1, actions);
    EXPECT_TRUE(sends().empty());
    engine.tick(100, actions);
    EXPECT_EQ(sends().size(), 1u);
    engine.received(response(sent, 0x0001), 101, actions);
    sends();
    ASSERT_EQ(finished.size(), 1u) << "the last repeat's answer stands, busy or not";
    EXPECT_TRUE(finished[0].response);
}

TEST_F(TransactionsTest, BoundsOutstandingAndQueuedRequests) {
    for (std::size_t i = 0; i < Transactions::max_outstanding + Transactions::max_queued; ++i) start(0);
    const auto sent = sends();
    EXPECT_EQ(sent.size(), Transactions::max_outstanding);
    EXPECT_FALSE(engine.start(request(), {}, {}, 0, actions));
    EXPECT_EQ(engine.counters().queue_full.value(), 1u);
    engine.received(response(sent[0].mad), 1, actions);
    EXPECT_EQ(sends().size(), 1u) << "one answered, one more sent";
}

/// Requests at random over a link that loses, repeats and delays in both directions.
class TransactionsSim : public testing::TestWithParam<unsigned> {};

TEST_P(TransactionsSim, EveryRequestEndsOnceAndNeverMoreThanSixtyFourAreOut) {
    std::mt19937 random(GetParam());
    Transactions engine(static_cast<std::uint32_t>(random()));
    Transactions::Actions actions;
    std::map<Ticket, int> ends;
    std::multimap<Time, MadBuffer> in_flight;
    std::size_t started = 0, answered = 0;
    Time now = 0;
    const unsigned loss = random() % 60;
    const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
    const auto play = [&] {
        for (const auto& action : std::exchange(actions, {})) {
            if (const auto* send = std::get_if<Transactions::Send>(&action)) {
                for (int copies = chance(10) ? 2 : 1; copies > 0; --copies) {
                    if (!chance(loss)) in_flight.emplace(now + random() % 400, response(send->mad, chance(5)));
                }
            } else {
                const auto& done = std::get<Transactions::Done>(action);
                ++ends[done.ticket];
                answered += done.response.has_value();
            }
        }
        ASSERT_LE(engine.outstanding(), Transactions::max_outstanding);
    };
    for (int step = 0; step < 3000 || engine.deadline(); ++step) {
        now += random() % 20;
        if (step < 300 && chance(70)) {
            for (unsigned n = random() % 8; n > 0; --n) {
                engine.start(request(), {}, {.timeout = 100, .limit = 400, .retries = 4}, now, actions);
                ++started;
            }
        }
        while (!in_flight.empty() && in_flight.begin()->first <= now) {
            const auto mad = in_flight.begin()->second;
            in_flight.erase(in_flight.begin());
            engine.received(mad, now, actions);
        }
        if (engine.deadline() && *engine.deadline() <= now) engine.tick(now, actions);
        play();
    }
    EXPECT_EQ(ends.size(), started);
    for (const auto& [ticket, times] : ends) EXPECT_EQ(times, 1);
    EXPECT_EQ(engine.counters().responses.value(), answered);
    EXPECT_EQ(engine.counters().timeouts.value(), started - answered);
    EXPECT_EQ(engine.counters().rx_dropped_unknown_tid.value(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, TransactionsSim, testing::Range(0u, 300u));

}  // namespace
}  // namespace verbline::mad
