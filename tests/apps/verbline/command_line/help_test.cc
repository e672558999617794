// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/command_line/help.h"

#include <string>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

namespace verbline::cli {
namespace {

class Probe final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "probe",
            .summary = "touch a port",
            .synopsis = "PORT --sm SM [-n N] [--a-long-option-that-leaves-no-room] [--bracket stays whole]",
            .description =
                {"First paragraph, long enough that it has to be broken somewhere before its eightieth column "
                 "is reached.",
                 ".Second begins with a dot."},
            .examples = {{"verbline probe -n 3 ib0", "three times"}},
            .see_also = {"verbline-show(1)"},
        };
    }
    void declare(CLI::App& app) override {
        app.set_help_flag("-h,--help", "print this help");
        app.add_option("PORT", port_, "which one")->required();
        app.add_option("--sm", sm_, "where the subnet manager is")->required()->type_name("SM");
        app.add_option("-n,--times", times_, "how often")->type_name("N")->check(CLI::Range(1, 9));
        app.add_flag("--a-long-option-that-leaves-no-room", flag_, "explained on a line of its own");
    }
    Outcome run(const CommandContext& /*context*/) override { return {}; }

private:
    std::string port_, sm_;
    int times_ = 1;
    bool flag_ = false;
};

TEST(Help, ShowsEverythingAligned) {
    Probe probe;
    EXPECT_EQ(command_help(probe), R"(Usage: verbline probe PORT --sm SM [-n N] [--a-long-option-that-leaves-no-room]
                      [--bracket stays whole]

First paragraph, long enough that it has to be broken somewhere before its
eightieth column is reached.

.Second begins with a dot.

Arguments:
  PORT  which one

Options:
  -h, --help     print this help
  --sm SM        where the subnet manager is
  -n, --times N  how often
  --a-long-option-that-leaves-no-room
                 explained on a line of its own

Examples:
  verbline probe -n 3 ib0
      three times
)");
}

TEST(Help, ListsTheCommands) {
    std::vector<std::unique_ptr<Command>> commands;
    commands.push_back(std::make_unique<Probe>());
    EXPECT_NE(program_help(commands).find("  probe  touch a port\n"), std::string::npos);
}

TEST(ManPage, HasTheSameTextAsRoff) {
    Probe probe;
    const auto page = command_man_page(probe);
    for (const auto* part : {".TH VERBLINE-PROBE 1 ", ".SH NAME\nverbline\\-probe \\- touch a port\n",
                             "\n\\&.Second begins with a dot.\n", ".TP\n\\fB\\-n, \\-\\-times N\\fR\nhow often\n",
                             "verbline probe \\-n 3 ib0\n", ".SH SEE ALSO\nverbline(1), verbline\\-show(1)\n"})
        EXPECT_NE(page.find(part), std::string::npos) << part << "\nis not in\n" << page;
}

TEST(ManPage, OfTheProgramNamesThoseOfTheCommands) {
    std::vector<std::unique_ptr<Command>> commands;
    commands.push_back(std::make_unique<Probe>());
    const auto page = program_man_page(commands);
    EXPECT_NE(page.find(".SH SEE ALSO\nverbline\\-probe(1)\n"), std::string::npos) << page;
}

}  // namespace
}  // namespace verbline::cli
