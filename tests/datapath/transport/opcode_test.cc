// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/opcode.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace verbline::transport {
namespace {

struct Expected {
    std::uint8_t opcode;
    Operation operation;
    std::size_t headers;
};

// Whole opcodes with what is behind the BTH, from table 38 of IBTA volume 1 and annexes A14, A17 and A19.
constexpr Expected known[] = {
    {0x00, Operation::send, 0},          {0x03, Operation::send, 4},
    {0x06, Operation::write, 16},        {0x07, Operation::write, 0},
    {0x0b, Operation::write, 20},        {0x0c, Operation::read_request, 16},
    {0x0d, Operation::read_response, 4}, {0x0e, Operation::read_response, 0},
    {0x11, Operation::acknowledge, 4},   {0x12, Operation::atomic_acknowledge, 12},
    {0x13, Operation::compare_swap, 28}, {0x14, Operation::fetch_add, 28},
    {0x17, Operation::send, 4},          {0x1c, Operation::flush, 20},
    {0x1d, Operation::atomic_write, 16}, {0x20, Operation::send, 0},
    {0x2a, Operation::write, 16},        {0x64, Operation::send, 8},
    {0x65, Operation::send, 12},         {0x81, Operation::congestion_notification, 0},
    {0xa0, Operation::send, 4},          {0xa6, Operation::write, 20},
    {0xac, Operation::read_request, 20}, {0xad, Operation::read_response, 4},
    {0xb1, Operation::acknowledge, 4},   {0xb4, Operation::fetch_add, 32},
};

TEST(Opcode, SaysOperationAndHeaders) {
    for (const auto& expected : known) {
        const auto& traits = opcode_table[expected.opcode];
        EXPECT_EQ(traits.operation, expected.operation) << +expected.opcode;
        EXPECT_EQ(traits.headers, expected.headers) << +expected.opcode;
    }
}

TEST(Opcode, AreAsManyAsThereAre) {
    const auto of = [](Service service) {
        return std::ranges::count_if(opcode_table, [service](const OpcodeTraits& traits) {
            return traits.service == service && traits.operation != Operation::none;
        });
    };
    EXPECT_EQ(of(Service::rc), 25);
    EXPECT_EQ(of(Service::uc), 12);
    EXPECT_EQ(of(Service::rd), 0);
    EXPECT_EQ(of(Service::ud), 2);
    EXPECT_EQ(of(Service::congestion), 1);
    EXPECT_EQ(of(Service::xrc), 25);
}

TEST(Opcode, KnowsItsPlaceInTheMessage) {
    const auto place = [](std::uint8_t low) { return std::pair(opcode_table[low].first, opcode_table[low].last); };
    EXPECT_EQ(place(opcode::send_first), std::pair(true, false));
    EXPECT_EQ(place(opcode::write_middle), std::pair(false, false));
    EXPECT_EQ(place(opcode::send_last_invalidate), std::pair(false, true));
    EXPECT_EQ(place(opcode::write_only_immediate), std::pair(true, true));
    EXPECT_EQ(place(opcode::read_response_middle), std::pair(false, false));
}

TEST(Opcode, TellsRequestsFromAnswers) {
    for (const auto low : {opcode::read_response_first, opcode::read_response_middle, opcode::read_response_last,
                           opcode::read_response_only, opcode::acknowledge, opcode::atomic_acknowledge}) {
        EXPECT_FALSE(opcode_table[low].is_request()) << +low;
        EXPECT_FALSE(opcode_table[opcode::of(Service::xrc, low)].is_request()) << +low;
    }
    EXPECT_FALSE(opcode_table[0x15].is_request());  // not an opcode
    for (const auto low : {opcode::send_only, opcode::read_request, opcode::fetch_add, opcode::flush}) {
        EXPECT_TRUE(opcode_table[low].is_request()) << +low;
    }
}

}  // namespace
}  // namespace verbline::transport
