// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/doctor/report.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace verbline::doctor {
namespace {

constexpr std::size_t terminal_columns = 100;  ///< of a terminal; commands are never broken
constexpr std::size_t severity_width = 7;      ///< "warning"
constexpr std::size_t widest_subject = 16;     ///< longer ones, as of CPUs without order, push their own line only

std::string printable(std::string text) {
    std::ranges::replace_if(text, [](unsigned char c) { return std::iscntrl(c) != 0; }, '?');
    return text;
}

/// `text` in lines of the columns that are left, each behind `indent` blanks but the first.
std::string wrapped(std::string text, std::size_t indent) {
    const std::size_t room = terminal_columns - std::min(indent, terminal_columns / 2);
    std::string out;
    while (text.size() > room) {
        const auto blank = text.rfind(' ', room);
        if (blank == text.npos || blank == 0) break;
        out += text.substr(0, blank) + "\n" + std::string(indent, ' ');
        text.erase(0, blank + 1);
    }
    return out + text;
}

std::string counted(std::size_t number, std::string_view what) {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace

std::string render_text(const Findings& findings) {
    std::size_t width = 0;
    for (const auto& finding : findings) width = std::max(width, std::min(finding.subject.size(), widest_subject));
    std::string out;
    for (const auto& [severity, subject, found, command] : findings) {
        const auto begin = fmt::format("{:<{}}  {:<{}}  ", name(severity), severity_width, printable(subject), width);
        out += begin + wrapped(printable(found), severity_width + width + 4) + "\n";
        if (!command.empty()) out += fmt::format("    {}\n", printable(command));
    }
    return out;
}

cli::Json rows(const Findings& findings) {
    auto rows = cli::Json::array();
    for (const auto& [severity, subject, found, command] : findings)
        rows.push_back({{"severity", name(severity)}, {"subject", subject}, {"found", found}, {"command", command}});
    return rows;
}

std::string complaint(const Findings& findings) {
    const auto number = [&](Severity severity) {
        return static_cast<std::size_t>(std::ranges::count(findings, severity, &Finding::severity));
    };
    std::string text;
    if (const auto errors = number(Severity::error)) text = counted(errors, "error");
    if (const auto warnings = number(Severity::warning))
        text += (text.empty() ? "" : ", ") + counted(warnings, "warning");
    return text;
}

}  // namespace verbline::doctor
