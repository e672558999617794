// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/base/counter.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace verbline {
namespace {

#define VERBLINE_TEST_COUNTERS(X) \
    X(received, "what came")      \
    X(dropped, "what did not")

struct TestCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_TEST_COUNTERS)
};

using Values = std::vector<std::pair<std::string, std::uint64_t>>;

Values values(const auto& counters) {
    Values out;
    counters.each([&](std::string_view name, std::uint64_t value, std::string_view) { out.emplace_back(name, value); });
    return out;
}

TEST(CounterSums, AddByNameInTheOrderOfTheFirst) {
    CounterSums sums;
    EXPECT_EQ(values(sums), Values{});
    TestCounters counters;
    counters.received.add(3);
    counters.each(sums.add());
    counters.dropped.add();
    counters.each(sums.add());
    sums.add()(std::string("oth") + "er", 7, "a name that is gone afterwards");
    EXPECT_EQ(values(sums), (Values{{"received", 6}, {"dropped", 1}, {"other", 7}}));
}

TEST(VisitSums, OfSeveralQueues) {
    std::array<TestCounters, 3> queues;
    queues[0].received.add(1);
    queues[2].received.add(4);
    Values out;
    visit_sums(
        queues, [&](std::string_view name, std::uint64_t value, std::string_view) { out.emplace_back(name, value); },
        [](const TestCounters& counters) -> const TestCounters& { return counters; });
    EXPECT_EQ(out, (Values{{"received", 5}, {"dropped", 0}}));
}

}  // namespace
}  // namespace verbline
