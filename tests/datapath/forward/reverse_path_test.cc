// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/reverse_path.h"

#include <gtest/gtest.h>

namespace verbline::forward {
namespace {

constexpr InterfaceId here{3}, elsewhere{4};

template <class Address>
class ReversePathOf : public testing::Test {};

using Families = testing::Types<wire::Ipv4Address, wire::Ipv6Address>;
TYPED_TEST_SUITE(ReversePathOf, Families);

TYPED_TEST(ReversePathOf, IsAskedForByKindAndInterface) {
    using enum NextHopKind;
    using Hop = BasicNextHop<TypeParam>;
    for (const auto kind : {unreachable, blackhole, local, on_link, via}) {
        const bool forwarded = kind == on_link || kind == via;
        for (const auto interface : {here, elsewhere}) {
            const Hop back{.kind = kind, .interface = interface};
            EXPECT_TRUE(passes(ReversePathFilter::off, back, here));
            EXPECT_EQ(passes(ReversePathFilter::loose, back, here), forwarded);
            EXPECT_EQ(passes(ReversePathFilter::strict, back, here), forwarded && interface == here);
        }
    }
}

}  // namespace
}  // namespace verbline::forward
