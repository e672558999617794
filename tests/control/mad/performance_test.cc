// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/performance.h"

#include <gtest/gtest.h>

#include "datapath/wire/bytes.h"

namespace verbline::mad {
namespace {

constexpr std::uint16_t port_counters = 0x12, extended = 0x1d, samples = 0x10;

MadBuffer ask(std::uint16_t attribute, wire::MadMethod method = wire::MadMethod::get, std::uint16_t select = 0,
              std::uint8_t port = 1) {
    MadBuffer mad{};
    wire::Mad{
        .management_class = wire::MadClass::performance, .method = method, .transaction = 7, .attribute = attribute}
        .emit(std::span(mad).first<wire::Mad::size>());
    mad[65] = std::byte{port};
    wire::store16(mad, 66, select);
    return mad;
}

class Performance : public testing::Test {
protected:
    MadBuffer answer(const MadBuffer& request) {
        const auto answer = agent.answer(request, counters);
        EXPECT_TRUE(answer);
        const auto header = wire::Mad::parse(answer.value_or(MadBuffer{}));
        EXPECT_EQ(header->method, wire::MadMethod::get_response);
        EXPECT_EQ(header->transaction, 7U);
        status = header->status;
        return answer.value_or(MadBuffer{});
    }

    PerformanceAgent agent;
    PerformanceCounters counters{.link_downed = 2,
                                 .receive_errors = 3,
                                 .transmit_discards = 70000,
                                 .transmit_data = 0x1'0000'0001,
                                 .receive_data = 5,
                                 .transmit_packets = 6,
                                 .receive_packets = 8};
    std::uint16_t status = 0xffff;
};

TEST_F(Performance, CountersAreInTheirFieldsAndStayAtTheirLargestValue) {
    const auto got = answer(ask(port_counters));
    EXPECT_EQ(status, 0);
    EXPECT_EQ(got[64 + 7], std::byte{2});
    EXPECT_EQ(wire::load16(got, 64 + 8), 3);
    EXPECT_EQ(wire::load16(got, 64 + 14), 0xffff);
    EXPECT_EQ(wire::load32(got, 64 + 24), 0xffff'ffff);
    EXPECT_EQ(wire::load32(got, 64 + 28), 5U);
    EXPECT_EQ(wire::load32(got, 64 + 32), 6U);
    EXPECT_EQ(wire::load32(got, 64 + 36), 8U);
}

TEST_F(Performance, ExtendedCountersAreWhole) {
    const auto got = answer(ask(extended));
    EXPECT_EQ(wire::load64(got, 64 + 8), 0x1'0000'0001U);
    EXPECT_EQ(wire::load64(got, 64 + 32), 8U);
}

TEST_F(Performance, SetResetsWhatItSelects) {
    auto got = answer(ask(port_counters, wire::MadMethod::set, 1U << 15));
    EXPECT_EQ(wire::load32(got, 64 + 36), 0U);
    EXPECT_EQ(wire::load32(got, 64 + 32), 6U) << "not selected";
    counters.receive_packets += 4;
    got = answer(ask(port_counters));
    EXPECT_EQ(wire::load32(got, 64 + 36), 4U);
    EXPECT_EQ(wire::load64(answer(ask(extended)), 64 + 32), 12U) << "another attribute";
}

TEST_F(Performance, TheClassSaysThatCountersHave64Bits) {
    const auto got = answer(ask(1));
    EXPECT_EQ(status, 0);
    EXPECT_EQ(wire::load16(got, 64 + 2), 0x0400);
}

TEST_F(Performance, WhatItDoesNotHaveIsRefused) {
    answer(ask(samples));
    EXPECT_EQ(status, 0x000c);
    answer(ask(port_counters, wire::MadMethod::report));
    EXPECT_EQ(status, 0x0008);
    answer(ask(port_counters, wire::MadMethod::get, 0, 2));
    EXPECT_EQ(status, 0x001c) << "there is one port";
}

TEST_F(Performance, AnswersAreNotAnswered) {
    EXPECT_FALSE(agent.answer(ask(port_counters, wire::MadMethod::get_response), counters));
    EXPECT_FALSE(agent.answer(MadBuffer{}, counters)) << "another base version";
}

}  // namespace
}  // namespace verbline::mad
