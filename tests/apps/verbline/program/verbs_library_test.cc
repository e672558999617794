// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/program/verbs_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/apps/verbline/scratch.h"

namespace verbline::cli {
namespace {

using testing::HasSubstr;

TEST(VerbsLibrary, ListsEveryDeviceWithItsPortsAndLink) {
    const auto library = VerbsLibrary::open(VERBLINE_FAKE_VERBS);
    ASSERT_TRUE(library) << library.error().what;
    const auto devices = library->devices();
    ASSERT_TRUE(devices) << devices.error().what;
    ASSERT_EQ(devices->size(), 2U);
    const auto& device = (*devices)[0];
    EXPECT_EQ(device["hca_id"], "verbline0");
    EXPECT_EQ((*devices)[1]["hca_id"], "verbline_ib0");
    EXPECT_EQ(device["fw_ver"], "fake");
    EXPECT_EQ(device["board_id"], "fake board");
    ASSERT_EQ(device["ports"].size(), 1U);
    EXPECT_EQ(device["ports"][0]["state"], "PORT_ACTIVE (4)");
    EXPECT_EQ(device["ports"][0]["gids"].size(), 1U) << "those of other ports are not its own";
    EXPECT_EQ(device["link"]["link"], "hub:lab");
    EXPECT_EQ(device["link"]["counters"]["rx_packets"], 3);
}

TEST(VerbsLibrary, NamesADeviceThatCannotBeOpened) {
    const Variable broken("FAKE_VERBS_BROKEN", "1");
    const auto devices = VerbsLibrary::open(VERBLINE_FAKE_VERBS).value().devices();
    ASSERT_FALSE(devices);
    EXPECT_EQ(devices.error().what, "verbline_ib0: cannot be opened: No such device");
}

TEST(VerbsLibrary, MustBeOurs) {
    EXPECT_THAT(VerbsLibrary::open("/no/such/libibverbs.so.1").error().what, HasSubstr("cannot load /no/such/"));
    EXPECT_THAT(VerbsLibrary::open("libc.so.6").error().what, HasSubstr("libc.so.6 is not of this Verbline"));
}

}  // namespace
}  // namespace verbline::cli
