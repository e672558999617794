// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "apps/verbline/command_line/help.h"
#include "apps/verbline/command_line/option_list.h"
#include "apps/verbline/command_line/program_manual.h"
#include "apps/verbline/command_line/version.h"

namespace verbline::cli {
namespace {

/// Text as roff prints it unchanged: backslashes and hyphens escaped, no line taken for a request.
std::string roff(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else
            out += c;
    }
    if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
    return out;
}

std::string upper(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
    return text;
}

std::string terms(std::string_view title, const std::vector<Term>& list) {
    if (list.empty()) return "";
    std::string out = fmt::format(".SH {}\n", title);
    for (const auto& [name, what] : list) out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(name), roff(what));
    return out;
}

/// One line per form of the command.
std::string synopsis(const Manual& manual, std::string_view command) {
    std::string out;
    for (auto rest = manual.synopsis; !rest.empty();) {
        const auto line = rest.substr(0, rest.find('\n'));
        out += fmt::format("{}\\fB{}\\fR {}\n", out.empty() ? "" : ".br\n", command, roff(line));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    }
    return out;
}

std::string head(const std::string& page, const Manual& manual, std::string_view command) {
    std::string out = fmt::format(".TH {} 1 \"\" \"verbline {}\" \"Verbline\"\n", upper(page), version);
    out += fmt::format(".SH NAME\n{} \\- {}\n", roff(page), roff(manual.summary));
    out += fmt::format(".SH SYNOPSIS\n{}.SH DESCRIPTION\n", synopsis(manual, command));
    for (const auto text : manual.description) out += fmt::format(".PP\n{}\n", roff(text));
    return out;
}

std::string tail(const Manual& manual, std::string see_also) {
    std::string out;
    if (!manual.examples.empty()) out += ".SH EXAMPLES\n";
    for (const auto& [line, what] : manual.examples)
        out += fmt::format(".PP\n{}:\n.PP\n.RS\n.nf\n{}\n.fi\n.RE\n", roff(what), roff(line));
    out +=
        ".SH EXIT STATUS\n0: success. 1: it went wrong while running. 2: wrong arguments or configuration; nothing was "
        "started.\n";
    for (const auto page : manual.see_also) see_also += fmt::format("{}{}", see_also.empty() ? "" : ", ", page);
    if (!see_also.empty()) out += fmt::format(".SH SEE ALSO\n{}\n", roff(see_also));
    return out;
}

std::string page_name(const Command& command) {
    auto name = fmt::format("verbline-{}", command.manual().name);
    std::ranges::replace(name, ' ', '-');
    return name;
}

}  // namespace

std::string program_man_page(std::span<const std::unique_ptr<Command>> commands) {
    const auto manual = program_manual();
    std::vector<Term> list;
    std::string pages;
    for (const auto& command : commands) {
        list.push_back({std::string(command->manual().name), std::string(command->manual().summary)});
        pages += fmt::format("{}{}(1)", pages.empty() ? "" : ", ", page_name(*command));
    }
    return head("verbline", manual, "verbline") + terms("COMMANDS", list) + terms("OPTIONS", program_options()) +
           tail(manual, pages);
}

std::string command_man_page(Command& command) {
    const auto manual = command.manual();
    const auto options = option_list(command);
    return head(page_name(command), manual, fmt::format("verbline {}", manual.name)) +
           terms("ARGUMENTS", options.arguments) + terms("OPTIONS", options.options) + tail(manual, "verbline(1)");
}

}  // namespace verbline::cli
