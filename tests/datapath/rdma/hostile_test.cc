// SPDX-License-Identifier: BSD-3-Clause
// The table of hostile inputs: what arrives, and all that comes of it. Everything is exact: the victim's answers on the
// wire, each counter that moves, completions, events, the state, and that memory is as it was.
#include <iomanip>
#include <iostream>
#include <set>

#include <gtest/gtest.h>

#include "tests/datapath/rdma/hostile_victim.h"
#include "tests/support/eal.h"

namespace verbline::hostile {
namespace {

std::string_view text(transport::QueuePairState state) {
    constexpr std::array<std::string_view, 7> names{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERROR"};
    return names[static_cast<std::size_t>(state)];
}

/// What came of it, as one line of the table.
std::string line(std::initializer_list<std::string_view> parts, transport::QueuePairState state) {
    std::string all;
    for (const auto part : parts) {
        if (!part.empty()) all += std::string(part) + " | ";
    }
    return all + std::string(text(state));
}

void check(const Row& row) {
    Victim victim(row);
    victim.attack();
    const auto came =
        line({victim.answers(), victim.counters(), victim.completions(), victim.events()}, victim.state());
    EXPECT_EQ(came, line({row.answers, row.counters, row.completions, row.events}, row.state)) << row.name;
    EXPECT_TRUE(victim.intact_beyond(row.written)) << row.name << ": memory was written";
    std::cout << "  " << std::left << std::setw(72) << row.name << came << '\n';
}

class HostileInput : public testing::TestWithParam<std::vector<Row> (*)()> {};

TEST_P(HostileInput, HasExactlyTheExpectedEffect) {
    std::set<std::string_view> names;
    for (const auto& row : GetParam()()) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name << " is there twice";
        check(row);
    }
}

INSTANTIATE_TEST_SUITE_P(Memory, HostileInput, testing::Values(&memory_rows));
INSTANTIATE_TEST_SUITE_P(Packets, HostileInput, testing::Values(&packet_rows));
INSTANTIATE_TEST_SUITE_P(Messages, HostileInput, testing::Values(&message_rows));
INSTANTIATE_TEST_SUITE_P(Sequence, HostileInput, testing::Values(&sequence_rows));
INSTANTIATE_TEST_SUITE_P(Requester, HostileInput, testing::Values(&requester_rows));
INSTANTIATE_TEST_SUITE_P(Unreliable, HostileInput, testing::Values(&unreliable_rows));

}  // namespace
}  // namespace verbline::hostile
