// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/doctor/cpu_list.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "apps/verbline/doctor/root_directory.h"

namespace verbline::doctor {
namespace {

std::optional<unsigned> cpu_number(std::string_view text, unsigned last) {
    if (text == "N") return last;
    const auto number = parse_number(text);
    if (!number || *number < 0 || *number >= max_cpus) return std::nullopt;
    return static_cast<unsigned>(*number);
}

}  // namespace

std::optional<CpuSet> parse_cpu_list(std::string_view text, unsigned last) {
    if (text == "all") text = "0-N";
    CpuSet cpus;
    for (const auto part : std::views::split(text, ',')) {
        const std::string_view range(part);
        const auto dash = range.find('-');
        const auto begin = cpu_number(range.substr(0, dash), last);
        const auto end = dash == range.npos ? begin : cpu_number(range.substr(dash + 1), last);
        if (!begin || !end || *end < *begin) return std::nullopt;
        for (unsigned cpu = *begin; cpu <= *end; ++cpu) cpus.insert(cpu);
    }
    return cpus.empty() ? std::nullopt : std::optional(std::move(cpus));
}

std::string to_string(const CpuSet& cpus) {
    std::string text;
    for (auto it = cpus.begin(); it != cpus.end();) {
        const unsigned first = *it;
        unsigned last = first;
        while (++it != cpus.end() && *it == last + 1) ++last;
        text += fmt::format("{}{}", text.empty() ? "" : ",", first);
        if (last != first) text += fmt::format("-{}", last);
    }
    return text;
}

CpuSet without(const CpuSet& a, const CpuSet& b) {
    CpuSet left;
    std::ranges::set_difference(a, b, std::inserter(left, left.end()));
    return left;
}

}  // namespace verbline::doctor
