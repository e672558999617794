// SPDX-License-Identifier: BSD-3-Clause
#include "control/service/journal.h"

#include <cstdio>
#include <cstdlib>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace verbline::service {

/// Device and inode of the stream: a process may have been given the variable and another standard error since.
bool journal_reads_errors() {
    const char* stream = std::getenv("JOURNAL_STREAM");
    struct stat about{};
    if (stream == nullptr || fstat(STDERR_FILENO, &about) != 0) return false;
    return fmt::format("{}:{}", about.st_dev, about.st_ino) == stream;
}

std::string journal_line(Priority priority, std::string_view text, bool journal) {
    return journal ? fmt::format("<{}>{}\n", static_cast<unsigned>(priority), text) : fmt::format("{}\n", text);
}

void say(Priority priority, std::string_view text) {
    const auto line = journal_line(priority, text, journal_reads_errors());
    std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace verbline::service
