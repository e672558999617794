// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/output/counter_view.h"

#include <gtest/gtest.h>

namespace verbline::cli {
namespace {

Json counters(std::uint64_t a, std::uint64_t b) {
    return Json::array({{{"owner", "x"}, {"name", "n"}, {"value", a}, {"help", "first"}},
                        {{"owner", "y"}, {"name", "n"}, {"value", b}, {"help", "second"}}});
}

TEST(WithoutZeros, KeepsWhatCounted) {
    const auto out = without_zeros(counters(0, 3));
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0]["owner"], "y");
}

TEST(Rates, FirstReadingHasNone) {
    EXPECT_EQ(Rates().read(counters(5, 6), 0), counters(5, 6));
}

TEST(Rates, ArePerSecondAndPerCounter) {
    Rates rates;
    rates.read(counters(100, 0), 10 * second);
    const auto out = rates.read(counters(150, 4'000), 12 * second);
    EXPECT_EQ(out[0].dump(), R"({"owner":"x","name":"n","value":150,"per_second":25,"help":"first"})");
    EXPECT_EQ(out[1]["per_second"], 2'000);
}

TEST(Rates, ACounterThatWentBackHasNone) {
    Rates rates;
    rates.read(counters(100, 100), 1 * second);
    const auto out = rates.read(counters(1, 200), 2 * second);
    EXPECT_FALSE(out[0].contains("per_second"));
    EXPECT_EQ(out[1]["per_second"], 100);
}

TEST(Rates, ForeignRowsDoNoHarm) {
    Rates rates;
    const auto odd = Json::parse(R"([{"value":"text"},{"owner":7},{}])");
    rates.read(odd, 1);
    rates.read(odd, 2);
    EXPECT_TRUE(without_zeros(odd).empty());
}

}  // namespace
}  // namespace verbline::cli
