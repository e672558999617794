// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/command_line/command.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace verbline::cli {
namespace {

class Named final : public Command {
public:
    explicit Named(std::string_view name) : name_(name) {}
    Manual manual() const override { return {.name = name_}; }
    void declare(CLI::App& /*app*/) override {}
    Outcome run(const CommandContext& /*context*/) override { return {}; }

private:
    std::string_view name_;
};

class FindCommand : public ::testing::Test {
protected:
    FindCommand() {
        for (const auto* name : {"show", "bench packet", "bench verbs"})
            commands_.push_back(std::make_unique<Named>(name));
    }
    /// Its name, or the line of the error.
    std::string found(const std::vector<std::string>& words) const {
        const auto command = find_command(commands_, words);
        return command ? std::string((*command)->manual().name) : command.error().line;
    }
    std::vector<std::unique_ptr<Command>> commands_;
};

TEST_F(FindCommand, NameIsOneWordOrTwo) {
    EXPECT_EQ(found({"show", "gw", "all"}), "show");
    EXPECT_EQ(found({"bench", "verbs", "--help"}), "bench verbs");
    EXPECT_EQ(name_words(*commands_[0]), 1u);
    EXPECT_EQ(name_words(*commands_[1]), 2u);
}

TEST_F(FindCommand, SecondWordIsAskedFor) {
    const auto* const line = "verbline: bench is followed by what it is to do: packet, verbs; see verbline --help";
    EXPECT_EQ(found({"bench"}), line);
    EXPECT_EQ(found({"bench", "pakcet"}), line);
}

TEST_F(FindCommand, OtherWordsAreNone) {
    EXPECT_EQ(found({"packet"}), "verbline: packet is no command of verbline; see verbline --help");
    EXPECT_EQ(found({"ben", "packet"}), "verbline: ben is no command of verbline; see verbline --help");
}

}  // namespace
}  // namespace verbline::cli
