// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/refused_routes.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace verbline::forward {
namespace {

using Routes = RefusedRoutes<int, char>;

/// What is offered when nothing fits.
std::vector<int> offered(Routes& routes) {
    std::vector<int> prefixes;
    EXPECT_FALSE(routes.install_one([&](int prefix, char) {
        prefixes.push_back(prefix);
        return false;
    }));
    return prefixes;
}

TEST(RefusedRoutes, ForgetsTheOneThatIsInstalled) {
    Routes routes;
    routes.add(1, 'a'), routes.add(2, 'b'), routes.add(3, 'c');
    routes.add(2, 'd');
    EXPECT_TRUE(routes.install_one([](int, char next_hops) { return next_hops == 'd'; }));
    EXPECT_FALSE(routes.contains(2));
    EXPECT_EQ(routes.size(), 2u);
    EXPECT_THAT(offered(routes), testing::Contains(1));
}

TEST(RefusedRoutes, OffersFewAtATimeAndAllInTurn) {
    Routes routes;
    for (int i = 0; i < 20; ++i) routes.add(i, 'a');
    EXPECT_THAT(offered(routes), testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    EXPECT_THAT(offered(routes), testing::ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
    routes.remove(17);
    EXPECT_THAT(offered(routes), testing::ElementsAre(16, 18, 19, 0, 1, 2, 3, 4));
}

TEST(RefusedRoutes, HasNothingToOfferWhenEmpty) {
    Routes routes;
    EXPECT_TRUE(routes.empty());
    EXPECT_THAT(offered(routes), testing::IsEmpty());
}

}  // namespace
}  // namespace verbline::forward
