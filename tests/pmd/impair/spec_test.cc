// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/impair/spec.h"

#include <string>

#include <gtest/gtest.h>

namespace verbline::pmd {
namespace {

TEST(ImpairSpec, TakesEveryKey) {
    const auto spec =
        parse_impairments("loss=0.01,duplicate=0.001,reorder=0.02,corrupt=1,delay=100us,jitter=1.5ms,seed=7");
    ASSERT_TRUE(spec) << spec.error().what;
    const Impairments both{.loss = 0.01,
                           .duplicate = 0.001,
                           .reorder = 0.02,
                           .corrupt = 1,
                           .delay = 100 * microsecond,
                           .jitter = 1500 * microsecond};
    EXPECT_EQ(*spec, (ImpairSpec{.rx = both, .tx = both, .seed = 7}));
}

TEST(ImpairSpec, APrefixNamesOneDirection) {
    const auto spec = parse_impairments("loss=0.5,rx.loss=0.1,tx.delay=2s");
    ASSERT_TRUE(spec);
    EXPECT_EQ(spec->rx, (Impairments{.loss = 0.1}));
    EXPECT_EQ(spec->tx, (Impairments{.loss = 0.5, .delay = 2 * second}));
}

TEST(ImpairSpec, EmptyTextMeansNoImpairment) {
    EXPECT_EQ(parse_impairments(""), ImpairSpec{});
}

TEST(ImpairSpec, MistakesAreOneLineEach) {
    EXPECT_EQ(
        parse_impairments("los=0.1").error().what,
        "impair: unknown key `los`; known are loss, duplicate, reorder, corrupt, delay, jitter (each also with rx. or "
        "tx. before it) and seed");
    EXPECT_EQ(parse_impairments("loss=2").error().what, "impair: loss=2: must be a probability from 0 to 1");
    EXPECT_EQ(parse_impairments("loss").error().what, "impair: `loss` is not key=value");
    EXPECT_EQ(parse_impairments("tx.delay=5").error().what,
              "impair: tx.delay=5: must be a time such as 100us, at most 60s");
    for (const char* wrong :
         {"loss=", "loss=-0.1", "loss=nan", "loss=0.1x", "loss=inf", "delay=us", "delay=61s", "delay=-1us",
          "delay=nans", "jitter=1h", "seed=-1", "seed=x", "rx.seed=1", "rx.", ",", "loss=0.1,,", "=", "delay=1e300s"}) {
        const auto spec = parse_impairments(wrong);
        ASSERT_FALSE(spec) << wrong;
        EXPECT_EQ(spec.error().what.find('\n'), std::string::npos) << wrong;
    }
}

}  // namespace
}  // namespace verbline::pmd
