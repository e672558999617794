// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/command_line/arguments.h"

#include <gtest/gtest.h>

namespace verbline::cli {
namespace {

using Words = std::vector<std::string>;

Arguments split(const Words& words) {
    auto out = split_arguments(words);
    EXPECT_TRUE(out) << out.error().what;
    return out.value_or(Arguments{});
}

TEST(Arguments, WithoutEalArgumentsEverythingIsTheCommands) {
    EXPECT_EQ(split({"show", "gw", "--json"}).command, (Words{"show", "gw", "--json"}));
    EXPECT_TRUE(split({"show", "gw", "--json"}).eal.empty());
    EXPECT_TRUE(split({}).command.empty());
}

TEST(Arguments, EalArgumentsEndAtTheFirstDoubleDash) {
    const auto out = split({"-l", "0-1", "--no-pci", "--", "gateway", "--", "x"});
    EXPECT_EQ(out.eal, (Words{"-l", "0-1", "--no-pci"}));
    EXPECT_EQ(out.command, (Words{"gateway", "--", "x"}));
}

TEST(Arguments, ADoubleDashBehindACommandIsTheCommands) {
    EXPECT_EQ(split({"show", "--", "x"}).command, (Words{"show", "--", "x"}));
}

TEST(Arguments, HelpAndVersionAreOurs) {
    for (const auto* word : {"-h", "--help", "--version"}) EXPECT_EQ(split({word}).command, Words{word});
}

TEST(Arguments, AnOptionInFrontWithoutADoubleDashIsRefused) {
    const auto out = split_arguments(Words{"-l", "0", "gateway"});
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().what, "-l is no option of verbline; EAL arguments end with -- and a command follows");
}

TEST(Arguments, EalArgumentsMayBeEmpty) {
    EXPECT_EQ(split({"--", "show"}).command, Words{"show"});
}

}  // namespace
}  // namespace verbline::cli
