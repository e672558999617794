// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/profile_plan.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "apps/verbline/config/config.h"

namespace verbline::bench {
namespace {

using Options = std::vector<SetOption>;

const SetOption* find(std::span<const SetOption> options, std::string_view name) {
    const auto found = std::ranges::find(options, name, &SetOption::name);
    return found == options.end() ? nullptr : &*found;
}

/// `more` wins.
void set(Options& options, std::span<const SetOption> more) {
    std::erase_if(options, [&](const SetOption& option) { return find(more, option.name) != nullptr; });
    options.insert(options.end(), more.begin(), more.end());
}

std::vector<std::string> words(std::span<const SetOption> options) {
    std::vector<std::string> all;
    for (const auto& [name, values, line] : options)
        for (const auto& value : values) all.push_back(name == "device" ? value : fmt::format("--{}={}", name, value));
    return all;
}

/// In a file, options have no hyphens.
std::string without_hyphens(std::string_view reason) {
    return std::string(reason.substr(reason.starts_with("--") ? 2 : 0));
}

/// Each option by itself, so that the line of a wrong one is known.
Result<void> check_each(const Profile& profile, std::span<const SetOption> options, const ReadWords& read) {
    for (const auto& option : options)
        if (auto good = read(words({&option, 1})); !good)
            return std::unexpected(cli::config_error(profile.file, option.line, without_hyphens(good.error().what)));
    return {};
}

/// An error of `make_plan` begins with the option that it is about, or else is about the devices. What the command line
/// is to blame for has no line of the file.
Error located(const Profile& profile, std::span<const SetOption> options, unsigned run_line, const Error& error) {
    const std::string_view what = error.what;
    const auto name = what.starts_with("--") ? what.substr(2, what.find_first_of(": ") - 2) : "device";
    const auto* option = find(options, name);
    if (option != nullptr && option->line != 0)
        return cli::config_error(profile.file, option->line, without_hyphens(what));
    if (option != nullptr || name == "device") return error;
    return cli::config_error(profile.file, std::max(run_line, 1u), without_hyphens(what));
}

Result<PlannedRun> plan_run(const Profile& profile, const ProfileRun& run, std::span<const SetOption> given,
                            const ReadWords& read) {
    Options options = profile.options;
    set(options, run.options);
    set(options, given);
    const auto texts = read(words(options));
    if (!texts) return std::unexpected(located(profile, options, run.line, texts.error()));
    auto plan = make_plan(*texts);
    if (!plan) return std::unexpected(located(profile, options, run.line, plan.error()));
    return PlannedRun{.name = run.name, .size = texts->size, .plan = std::move(*plan)};
}

}  // namespace

Result<std::vector<PlannedRun>> plan_runs(const Profile& profile, std::span<const SetOption> given,
                                          const ReadWords& read) {
    if (auto good = check_each(profile, profile.options, read); !good) return std::unexpected(good.error());
    auto runs = profile.runs;
    if (runs.empty()) runs.emplace_back();
    std::vector<PlannedRun> planned;
    std::uint16_t mtu = 0;
    for (const auto& run : runs) {
        if (auto good = check_each(profile, run.options, read); !good) return std::unexpected(good.error());
        auto made = plan_run(profile, run, given, read);
        if (!made) return std::unexpected(made.error());
        if (made->name.empty()) made->name = std::to_string(planned.size() + 1);
        mtu = std::max(mtu, made->plan.mtu);
        planned.push_back(std::move(*made));
    }
    for (auto& run : planned) run.plan.mtu = mtu;
    return planned;
}

}  // namespace verbline::bench
