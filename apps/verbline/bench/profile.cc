// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/profile.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include "apps/verbline/config/config.h"
#include "apps/verbline/config/config_file.h"
#include "apps/verbline/config/toml_section.h"

namespace verbline::bench {
namespace {

using cli::Refused;
using cli::Section;

/// Ports are opened and lcores chosen once, before the first run: what these ask for is the same for all of them.
constexpr std::array<std::string_view, 12> of_all_runs{"device",     "role",         "queues",   "mtu",
                                                       "lcores",     "software-rss", "offloads", "rss-types",
                                                       "timestamps", "flow-rules",   "isolated", "impair"};

std::vector<std::string_view> keys(std::span<const OptionKind> known, std::vector<std::string_view> more) {
    for (const auto& kind : known) more.push_back(kind.name);
    return more;
}

std::string text_of(const Section& section, const toml::node& node, const OptionKind& kind) {
    if (kind.bare && node.is_boolean()) return *node.as_boolean() ? "true" : "false";
    if (kind.flag) return section.flag(kind.name)->value ? "true" : "false";
    if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
    if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
    if (!node.is_string())
        throw Refused{node.source().begin.line, fmt::format("{} must be a string or a number", kind.name)};
    return section.text(kind.name)->value;
}

std::vector<SetOption> read_options(const Section& section, const toml::table& table,
                                    std::span<const OptionKind> known) {
    std::vector<SetOption> options;
    for (const auto& kind : known) {
        const auto* node = table.get(kind.name);
        if (node == nullptr) continue;
        SetOption option{.name = kind.name, .line = node->source().begin.line};
        if (kind.name == "device") {
            for (auto& text : section.texts(kind.name)) option.values.push_back(std::move(text.value));
        } else {
            option.values.push_back(text_of(section, *node, kind));
        }
        options.push_back(std::move(option));
    }
    return options;
}

ProfileRun read_run(const toml::table& table, std::span<const OptionKind> known) {
    const Section section(table, "[[run]]", keys(known, {"name"}));
    ProfileRun run{.options = read_options(section, table, known), .line = section.line()};
    if (auto name = section.text("name")) run.name = std::move(name->value);
    for (const auto& option : run.options)
        if (std::ranges::find(of_all_runs, option.name) != of_all_runs.end())
            throw Refused{option.line,
                          fmt::format("{} is the same for all runs; set it above the first [[run]]", option.name)};
    return run;
}

Profile read_profile(const toml::table& table, const std::string& file, std::span<const OptionKind> known) {
    const Section section(table, "a profile", keys(known, {"description", "eal", "run"}));
    Profile profile{.file = file, .options = read_options(section, table, known)};
    if (auto text = section.text("description")) profile.description = std::move(text->value);
    if (auto text = section.text("eal")) profile.eal = std::move(text->value);
    for (const auto* run : section.tables("run")) profile.runs.push_back(read_run(*run, known));
    return profile;
}

}  // namespace

Result<Profile> parse_profile(std::string_view text, const std::string& file, std::span<const OptionKind> known) {
    try {
        return read_profile(toml::parse(text), file, known);
    } catch (const toml::parse_error& error) {
        return std::unexpected(cli::config_error(file, error.source().begin.line, std::string(error.description())));
    } catch (const Refused& refused) {
        return std::unexpected(cli::config_error(file, refused.line, refused.reason));
    }
}

Result<Profile> load_profile(const std::string& file, std::span<const OptionKind> known) {
    const auto text = cli::read_config_file(file);
    return text ? parse_profile(*text, file, known) : std::unexpected(text.error());
}

std::string eal_note(const Profile& profile, std::span<const std::string> eal_arguments) {
    const auto given = fmt::format("{}", fmt::join(eal_arguments, " "));
    if (profile.eal.empty() || profile.eal == given) return "";
    return fmt::format("{} is meant for the EAL arguments {}; these are {}", profile.file, profile.eal,
                       given.empty() ? "none" : given);
}

}  // namespace verbline::bench
