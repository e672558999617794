// SPDX-License-Identifier: BSD-3-Clause
#include "apps/environment/command_line.h"

#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

namespace verbline {
namespace {

using Words = std::vector<std::string>;

TEST(CommandLine, WhatStandsBeforeTheDashesIsDpdks) {
    CLI::App app;
    Words devices;
    app.add_option("DEVICES", devices);
    const std::array words{"program", "-l", "1", "--", "tap:a", "tap:b"};
    const auto eal = parse_command_line(app, words.size(), words.data());
    ASSERT_TRUE(eal && *eal);
    EXPECT_EQ(**eal, (Words{"-l", "1"}));
    EXPECT_EQ(devices, (Words{"tap:a", "tap:b"}));
}

TEST(CommandLine, WithoutDashesAllIsTheProgramsOwn) {
    CLI::App app;
    std::string device;
    app.add_option("DEVICE", device);
    const std::array words{"program", "tap:a"};
    const auto eal = parse_command_line(app, words.size(), words.data());
    ASSERT_TRUE(eal && *eal);
    EXPECT_TRUE((*eal)->empty());
    EXPECT_EQ(device, "tap:a");
}

TEST(CommandLine, AWrongArgumentIsNamedAndHelpEndsTheProgram) {
    CLI::App app;
    const std::array wrong{"program", "--colour"};
    const auto refused = parse_command_line(app, wrong.size(), wrong.data());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EINVAL);
    EXPECT_NE(refused.error().what.find("--colour"), std::string::npos) << refused.error().what;

    const std::array help{"program", "--", "--help"};
    const auto helped = parse_command_line(app, help.size(), help.data());
    ASSERT_TRUE(helped);
    EXPECT_FALSE(*helped);
}

}  // namespace
}  // namespace verbline
