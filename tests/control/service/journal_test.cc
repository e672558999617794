// SPDX-License-Identifier: BSD-3-Clause
#include "control/service/journal.h"

#include <cstdlib>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace verbline::service {
namespace {

TEST(Journal, PriorityGoesInFrontForTheJournalAlone) {
    EXPECT_EQ(journal_line(Priority::warning, "verbline: shard 0 stands", true), "<4>verbline: shard 0 stands\n");
    EXPECT_EQ(journal_line(Priority::error, "verbline: no", true), "<3>verbline: no\n");
    EXPECT_EQ(journal_line(Priority::error, "verbline: no", false), "verbline: no\n");
}

TEST(Journal, ReadsErrorsIfTheStreamIsStillThisOne) {
    unsetenv("JOURNAL_STREAM");
    EXPECT_FALSE(journal_reads_errors());
    struct stat about{};
    ASSERT_EQ(fstat(STDERR_FILENO, &about), 0);
    setenv("JOURNAL_STREAM", fmt::format("{}:{}", about.st_dev, about.st_ino).c_str(), 1);
    EXPECT_TRUE(journal_reads_errors());
    setenv("JOURNAL_STREAM", fmt::format("{}:{}", about.st_dev, about.st_ino + 1).c_str(), 1);
    EXPECT_FALSE(journal_reads_errors());
    unsetenv("JOURNAL_STREAM");
}

}  // namespace
}  // namespace verbline::service
