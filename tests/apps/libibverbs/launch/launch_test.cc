// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/launch/launch.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pmd/runtime/runtime_directory.h"
#include "tests/apps/verbline/scratch.h"

namespace verbline::verbs {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string variable(const char* name) {
    return process_environment(name).value_or("unset");
}

TEST(FindLibrary, LooksBesideTheProgram) {
    const cli::Scratch scratch;
    fs::create_directory(scratch.path() / "verbline");
    const auto program = scratch.path() / "verbline/verbline";
    EXPECT_THAT(find_library(program).error().what, HasSubstr("neither beside the program nor in /"));
    fs::create_directory(scratch.path() / "libibverbs");
    scratch.write("libibverbs/libibverbs.so.1", "");
    EXPECT_EQ(find_library(program).value(), fs::canonical(scratch.path()) / "libibverbs/libibverbs.so.1");
}

TEST(SetEnvironment, PutsTheLibraryBeforeAllOthersOnce) {
    const cli::Variable preload("LD_PRELOAD", "/x/libother.so"), path("LD_LIBRARY_PATH", "");
    const cli::Variable link("VERBLINE_LINK", ""), sysfs("VERBLINE_SYSFS", "/of/an/outer/run");
    Settings settings;
    for (int i = 0; i < 2; ++i) set_environment(settings, "/v/libibverbs.so.1");
    EXPECT_EQ(variable("LD_PRELOAD"), "/v/libibverbs.so.1:/x/libother.so");
    EXPECT_EQ(variable("LD_LIBRARY_PATH"), "/v");
    EXPECT_EQ(variable("VERBLINE_LINK"), "hub:default");
    EXPECT_EQ(variable("VERBLINE_SYSFS"), "unset");
}

TEST(AbsolutePaths, AreWhatAProgramInAnotherDirectoryFinds) {
    Settings settings{.links = {*parse_link("memif:b/a.sock,server"), *parse_link("hub:a"), *parse_link("memif:a")},
                      .addresses = {},
                      .impair = {},
                      .capture = "b.pcapng",
                      .sysfs = {}};
    settings = with_absolute_paths(settings);
    EXPECT_EQ(text(settings.links[0]), "memif:" + (fs::current_path() / "b/a.sock").string() + ",server");
    EXPECT_EQ(text(settings.links[2]), "memif:" + (pmd::runtime_directory() / "a").string());
    EXPECT_EQ(text(settings.links[1]), "hub:a");
    EXPECT_EQ(settings.capture, fs::current_path() / "b.pcapng");
}

}  // namespace
}  // namespace verbline::verbs
