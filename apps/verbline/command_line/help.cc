// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/command_line/help.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "apps/verbline/command_line/option_list.h"
#include "apps/verbline/command_line/program_manual.h"

namespace verbline::cli {
namespace {

constexpr std::size_t width = 80;

/// Breaks `text` at spaces; every line but the first starts `indent` columns in. `column` is where the text begins.
std::string fold(std::string_view text, std::size_t column, std::size_t indent) {
    std::string out;
    while (!text.empty()) {
        const auto end = std::min(text.find(' '), text.size());
        const auto word = text.substr(0, end);
        const bool first = out.empty();
        if (!first && column + 1 + word.size() > width) {
            out += '\n';
            out.append(indent, ' ');
            column = indent;
        } else if (!first) {
            out += ' ';
            ++column;
        }
        out += word;
        column += word.size();
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

/// "  term   explanation", the explanations aligned; a term too long for its column has them on the next line.
std::string aligned(const std::vector<Term>& terms) {
    constexpr std::size_t widest_column = 26;
    std::size_t column = 0;
    for (const auto& term : terms)
        if (term.name.size() <= widest_column) column = std::max(column, term.name.size());
    const std::size_t indent = 2 + column + 2;
    std::string out;
    for (const auto& term : terms) {
        out += fmt::format("  {}", term.name);
        if (term.name.size() <= column)
            out.append(indent - 2 - term.name.size(), ' ');
        else
            out.append("\n").append(indent, ' ');
        out += fmt::format("{}\n", fold(term.what, indent, indent));
    }
    return out;
}

std::string section(std::string_view title, const std::string& body) {
    return body.empty() ? "" : fmt::format("\n{}:\n{}", title, body);
}

std::string paragraphs(const Manual& manual) {
    std::string out;
    for (const auto text : manual.description) out += fmt::format("\n{}\n", fold(text, 0, 0));
    return out;
}

std::string examples(const Manual& manual) {
    std::string out;
    for (const auto& [line, what] : manual.examples) out += fmt::format("  {}\n      {}\n", line, fold(what, 6, 6));
    return out;
}

/// Folds a synopsis; text in brackets stays on one line.
std::string fold_synopsis(std::string text, std::size_t column) {
    constexpr char glue = '\f';
    int depth = 0;
    for (char& c : text) {
        depth += (c == '[') - (c == ']');
        if (c == ' ' && depth > 0) c = glue;
    }
    text = fold(text, column, column);
    std::ranges::replace(text, glue, ' ');
    return text;
}

/// One line per form of the command.
std::string usage(std::string_view synopsis, std::string_view program) {
    std::string out;
    for (bool first = true; first || !synopsis.empty(); first = false) {
        const auto line = synopsis.substr(0, synopsis.find('\n'));
        const auto lead = fmt::format("{} {} ", first ? "Usage:" : "      ", program);
        out += fmt::format("{}{}\n", lead, fold_synopsis(std::string(line), lead.size()));
        synopsis.remove_prefix(std::min(line.size() + 1, synopsis.size()));
    }
    return out;
}

std::vector<Term> summaries(std::span<const std::unique_ptr<Command>> commands) {
    std::vector<Term> terms;
    for (const auto& command : commands)
        terms.push_back({std::string(command->manual().name), std::string(command->manual().summary)});
    return terms;
}

}  // namespace

std::string program_help(std::span<const std::unique_ptr<Command>> commands) {
    const auto manual = program_manual();
    return usage(manual.synopsis, "verbline") + paragraphs(manual) + section("Commands", aligned(summaries(commands))) +
           section("Options", aligned(program_options())) + section("Examples", examples(manual)) +
           "\n`verbline COMMAND --help` explains a command.\n";
}

std::string command_help(Command& command) {
    const auto manual = command.manual();
    const auto options = option_list(command);
    return usage(manual.synopsis, fmt::format("verbline {}", manual.name)) + paragraphs(manual) +
           section("Arguments", aligned(options.arguments)) + section("Options", aligned(options.options)) +
           section("Examples", examples(manual));
}

}  // namespace verbline::cli
