// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/namespace/counter_files.h"

#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/apps/verbline/scratch.h"

namespace verbline::verbs {
namespace {

class SysfsCounters : public testing::Test {
protected:
    SysfsCounters() {
        for (const auto* group : {"counters", "hw_counters"})
            std::filesystem::create_directory(scratch_.path() / group);
        for (std::size_t i = 0; i < 2 * CounterFiles::most_at_once; ++i) {
            hw_.emplace_back(fmt::format("hw{}", i), 0);
            scratch_.write(fmt::format("hw_counters/hw{}", i), "0\n");
        }
        scratch_.write("counters/packets", "0\n");
    }
    std::string read(const std::string& file) const {
        std::ifstream in(scratch_.path() / file);
        std::string line;
        std::getline(in, line);
        return line;
    }

    cli::Scratch scratch_;
    CounterFiles files_{scratch_.path()};
    CounterFiles::Counters link_{{"packets", 0}}, hw_;
};

TEST_F(SysfsCounters, ThatHaveChangedAreWritten) {
    link_[0].second = 1234;
    hw_[3].second = 7;
    files_.refresh(link_, hw_);
    EXPECT_EQ(read("counters/packets"), "1234");
    EXPECT_EQ(read("hw_counters/hw3"), "7");
    link_[0].second = 5;  // shorter: nothing of the longer one stays
    files_.refresh(link_, hw_);
    EXPECT_EQ(read("counters/packets"), "5");
}

TEST_F(SysfsCounters, AreWrittenAFewAtATimeAndAllInTurn) {
    for (auto& [name, value] : hw_) value = 1;
    files_.refresh(link_, hw_);
    const auto fresh = [&] {
        return static_cast<std::size_t>(
            std::ranges::count_if(hw_, [&](const auto& each) { return read("hw_counters/" + each.first) == "1"; }));
    };
    EXPECT_EQ(fresh(), CounterFiles::most_at_once);
    files_.refresh(link_, hw_);
    EXPECT_EQ(fresh(), hw_.size());
}

TEST_F(SysfsCounters, AreAllWrittenAtTheEnd) {
    for (auto& [name, value] : hw_) value = 2;
    files_.write_all(link_, hw_);
    for (const auto& [name, value] : hw_) EXPECT_EQ(read("hw_counters/" + name), "2");
}

TEST_F(SysfsCounters, ThatAreNotThereAreLeftOut) {
    link_.emplace_back("absent", 1);
    files_.write_all(link_, hw_);
    EXPECT_FALSE(std::filesystem::exists(scratch_.path() / "counters/absent"));
}

}  // namespace
}  // namespace verbline::verbs
