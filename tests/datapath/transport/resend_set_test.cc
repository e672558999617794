// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/resend_set.h"

#include <initializer_list>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/transport/selective_ack.h"

namespace verbline::transport {
namespace {

class ResendSetTest : public testing::Test {
protected:
    /// The peer misses `missing` and has those at these distances behind it.
    void report(std::uint32_t missing, std::initializer_list<std::uint32_t> arrived) {
        SelectiveAck map;
        for (const auto psn : arrived) map.set(psn - missing - 1);
        set.update(first + missing, map.bytes(), next);
    }
    /// Sends all that is to be sent.
    std::vector<std::int32_t> resend() {
        std::vector<std::int32_t> sent;
        while (const auto psn = set.front()) {
            sent.push_back(*psn - first);
            set.pop(next);
        }
        return sent;
    }
    using List = std::vector<std::int32_t>;

    wire::Psn first{0xfffffa}, next = first + 20;
    ResendSet set;

    void SetUp() override { set.reset(first); }
};

TEST_F(ResendSetTest, MissesNothingAtFirst) {
    EXPECT_EQ(resend(), List{});
    EXPECT_TRUE(set.closed());
}

TEST_F(ResendSetTest, SendsTheGapsOnce) {
    report(0, {2, 3, 6});
    EXPECT_EQ(resend(), (List{0, 1, 4, 5}));
    EXPECT_EQ(resend(), List{});
    report(0, {2, 3, 6});
    EXPECT_EQ(resend(), List{}) << "they are on their way";
    EXPECT_FALSE(set.closed());
}

TEST_F(ResendSetTest, SendsAgainWhatWasOvertakenByLaterPackets) {
    report(0, {1});
    EXPECT_EQ(resend(), (List{0}));
    next = next + 5;
    report(0, {1, 19});
    EXPECT_EQ(resend(), (List{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}))
        << "19 was sent before 0 was repeated";
    report(0, {1, 19, 20});
    EXPECT_EQ(resend(), (List{0})) << "20 was sent after it";
}

TEST_F(ResendSetTest, ForgetsWhatIsAcknowledged) {
    report(0, {2, 6});
    set.advance(first + 3);
    EXPECT_EQ(resend(), (List{3, 4, 5}));
    set.advance(first + 6);
    EXPECT_FALSE(set.closed());
    set.advance(first + 7);
    EXPECT_TRUE(set.closed());
}

TEST_F(ResendSetTest, BelievesNothingOfWhatWasNotSent) {
    SelectiveAck map;
    for (std::uint32_t i = 0; i < ReorderWindow::size; ++i) map.set(i);
    set.update(first, map.bytes(), next);
    EXPECT_EQ(resend(), (List{0})) << "all but the first have arrived";
    set.advance(next);
    EXPECT_TRUE(set.closed()) << "nothing beyond the last that was sent counts";
}

TEST_F(ResendSetTest, IgnoresOldNews) {
    set.advance(first + 10);
    report(0, {2, 3, 9});
    EXPECT_TRUE(set.closed());
    EXPECT_EQ(resend(), List{});
}

TEST_F(ResendSetTest, SendsAgainWhatThePeerHasGivenUp) {
    report(0, {1, 2, 3, 8, 9});
    EXPECT_EQ(resend(), (List{0, 4, 5, 6, 7}));
    report(0, {1, 2, 13});
    EXPECT_EQ(resend(), (List{3, 8, 9, 10, 11, 12})) << "0 and 4 to 7 are on their way";
}

TEST_F(ResendSetTest, SendsAgainWhatThePeerWaitsForAlthoughItHadIt) {
    report(0, {1, 2, 3, 4});
    EXPECT_EQ(resend(), (List{0}));
    set.advance(first + 3);
    set.misses(first + 3);
    EXPECT_EQ(resend(), (List{3}));
}

TEST(ResendPool, LendsAsManyAsItHas) {
    ResendPool pool(1);
    auto* const set = pool.borrow();
    ASSERT_NE(set, nullptr);
    EXPECT_EQ(pool.borrow(), nullptr);
    pool.give_back(set);
    EXPECT_EQ(pool.borrow(), set);
}

}  // namespace
}  // namespace verbline::transport
