// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/flight.h"

#include <gtest/gtest.h>

namespace verbline::transport {
namespace {

TEST(Flight, OneRequesterMayUseTheWholeLimit) {
    Flight flight;
    EXPECT_TRUE(flight.has_room(0, Flight::limit));
    EXPECT_FALSE(flight.has_room(0, Flight::limit + 1));
    flight.change(0, Flight::limit);
    EXPECT_FALSE(flight.has_room(Flight::limit, 1));
    flight.change(Flight::limit, Flight::limit - 3);
    EXPECT_TRUE(flight.has_room(Flight::limit - 3, 3));
}

TEST(Flight, GuaranteesTheFloorToEachRequester) {
    Flight flight;
    flight.change(0, Flight::limit);
    EXPECT_TRUE(flight.has_room(0, Flight::floor));
    EXPECT_FALSE(flight.has_room(1, Flight::floor));
    flight.change(0, Flight::floor);
    EXPECT_FALSE(flight.has_room(Flight::floor, 1));
    flight.change(Flight::limit, 0);
    EXPECT_TRUE(flight.has_room(0, Flight::limit - Flight::floor));
    EXPECT_FALSE(flight.has_room(0, Flight::limit - Flight::floor + 1)) << "the floor of one counts for the others";
}

TEST(Flight, AdmittedCountsRequestersWithRoom) {
    Flight flight;
    flight.change(0, Flight::limit - 1);
    EXPECT_EQ(flight.admitted(), 1u);
    flight.change(Flight::limit - 1, Flight::limit + 5);
    EXPECT_EQ(flight.admitted(), 0u);
    flight.change(Flight::limit + 5, Flight::limit - 2 * Flight::floor);
    EXPECT_EQ(flight.admitted(), 2u);
    EXPECT_FALSE(flight.refused());
    flight.refuse();
    EXPECT_TRUE(flight.refused());
    EXPECT_FALSE(flight.refused()) << "once";
}

}  // namespace
}  // namespace verbline::transport
