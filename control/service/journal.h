// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Lines for people, on standard error: with their priority in front where the journal reads them (sd-daemon(3)).

#include <cstdint>
#include <string>
#include <string_view>

namespace verbline::service {

/// As syslog(3) numbers them.
enum class Priority : std::uint8_t { error = 3, warning = 4, notice = 5, information = 6 };

/// Whether standard error leads to the journal (JOURNAL_STREAM, systemd.exec(5)).
bool journal_reads_errors();

/// `text` and a newline, for standard error; "<4>" in front if `journal`.
std::string journal_line(Priority priority, std::string_view text, bool journal);

/// Writes one line to standard error.
void say(Priority priority, std::string_view text);

}  // namespace verbline::service
