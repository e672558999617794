// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/response_queue.h"

#include <gtest/gtest.h>

namespace verbline::transport {
namespace {

Response read_of(std::uint32_t first, std::uint32_t packets) {
    return {.kind = Response::Kind::read, .first = wire::Psn(first), .packets = packets, .end = packets};
}

TEST(ResponseQueue, HasNoRoomWhereNothingIsAgreedOn) {
    ResponseQueue queue;
    EXPECT_EQ(queue.add(), nullptr);
    queue.resize(0);
    EXPECT_EQ(queue.add(), nullptr);
    EXPECT_EQ(queue.pending(), nullptr);
    EXPECT_EQ(queue.find(wire::Psn(0)), nullptr);
}

TEST(ResponseQueue, AnswersInOrder) {
    ResponseQueue queue;
    queue.resize(3);
    for (const std::uint32_t first : {10u, 20u, 30u}) *queue.add() = read_of(first, 2);
    EXPECT_EQ(queue.add(), nullptr) << "as many as were agreed on";
    for (const std::uint32_t first : {10u, 20u, 30u}) {
        auto* const pending = queue.pending();
        ASSERT_NE(pending, nullptr);
        EXPECT_EQ(pending->first, wire::Psn(first));
        pending->next = pending->end;
    }
    EXPECT_EQ(queue.pending(), nullptr);
}

TEST(ResponseQueue, FindsWhatWasAnsweredUntilItsPlaceIsTaken) {
    ResponseQueue queue;
    queue.resize(2);
    for (const std::uint32_t first : {0xfffffeu, 5u}) {
        auto* const response = queue.add();
        *response = read_of(first, 4);
        response->next = response->end;
    }
    EXPECT_EQ(queue.find(wire::Psn(0xfffffd)), nullptr);
    EXPECT_EQ(queue.find(wire::Psn(1))->first, wire::Psn(0xfffffe)) << "across the wrap";
    EXPECT_EQ(queue.find(wire::Psn(2)), nullptr);
    EXPECT_EQ(queue.find(wire::Psn(8))->first, wire::Psn(5));
    *queue.add() = read_of(50, 1);
    EXPECT_EQ(queue.find(wire::Psn(0)), nullptr) << "the oldest has made room";
    EXPECT_NE(queue.find(wire::Psn(5)), nullptr);
}

TEST(ResponseQueue, AnswersTheOldestAgainFirst) {
    ResponseQueue queue;
    queue.resize(2);
    for (const std::uint32_t first : {10u, 20u}) {
        *queue.add() = read_of(first, 1);
        queue.pending()->next = 1;
    }
    queue.find(wire::Psn(20))->next = 0;
    queue.find(wire::Psn(10))->next = 0;
    EXPECT_EQ(queue.pending()->first, wire::Psn(10));
}

TEST(ResponseQueue, ARepetitionMakesWayForWhatComesNext) {
    ResponseQueue queue;
    queue.resize(1);
    *queue.add() = read_of(10, 4);
    EXPECT_EQ(queue.add(), nullptr) << "never answered";
    auto* const response = queue.pending();
    response->next = 4, response->answered = true;
    // The answer arrived after the peer had asked again, and it went on.
    response->next = 2;
    ASSERT_NE(queue.add(), nullptr);
}

}  // namespace
}  // namespace verbline::transport
