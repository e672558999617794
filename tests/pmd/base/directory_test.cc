// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/base/directory.h"

#include <new>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/stranger.h"

namespace verbline {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names(const fs::path& directory) {
    std::vector<std::string> all;
    for_each_entry(directory, [&](std::string name) { all.push_back(std::move(name)); });
    return all;
}

TEST(Directory, EachNameIsGivenOnce) {
    const test::Place place;
    for (const auto* name : {"a", ".hidden", "..."}) place.directory(name);
    EXPECT_THAT(names(place.path()), testing::UnorderedElementsAre("a", ".hidden", "..."));
}

TEST(Directory, UnreadableDirectoryHasNoNames) {
    const test::Place place;
    EXPECT_TRUE(names(place.path() / "none").empty());
    EXPECT_TRUE(names("/dev/null").empty());
}

TEST(Directory, EntriesMayBeRemovedMeanwhile) {
    const test::Place place;
    for (const auto* name : {"1", "2", "3"}) place.directory(name);
    for_each_entry(place.path(), [&](const std::string& name) { fs::remove(place.path() / name); });
    EXPECT_TRUE(fs::is_empty(place.path()));
}

TEST(Directory, IsClosedWhenItsUserThrows) {
    const test::Place place;
    place.directory("a");
    EXPECT_THROW(for_each_entry(place.path(), [](const std::string&) { throw std::bad_alloc(); }), std::bad_alloc);
}

}  // namespace
}  // namespace verbline
