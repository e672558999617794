// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/impair/spec.h"

#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace verbline::pmd {
namespace {

constexpr Time longest = 60 * second;  // more is a mistake, and would hold packets without bound

template <class T>
std::optional<std::pair<T, std::string_view>> number(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) return std::nullopt;
    return std::pair(value, text.substr(static_cast<std::size_t>(end - text.data())));
}

std::optional<double> probability(std::string_view text) {
    const auto parsed = number<double>(text);
    if (!parsed || !parsed->second.empty() || !(parsed->first >= 0 && parsed->first <= 1)) return std::nullopt;
    return parsed->first;
}

std::optional<Time> duration(std::string_view text) {
    const auto parsed = number<double>(text);
    if (!parsed) return std::nullopt;
    const auto [value, unit] = *parsed;
    double scale = 0;
    if (unit == "ns") scale = 1;
    if (unit == "us") scale = microsecond;
    if (unit == "ms") scale = millisecond;
    if (unit == "s") scale = second;
    if (scale == 0 || !(value >= 0 && value * scale <= static_cast<double>(longest))) return std::nullopt;
    return static_cast<Time>(value * scale);
}

std::unexpected<Error> wrong(std::string_view key, std::string_view value, std::string_view wanted) {
    return failure(EINVAL, fmt::format("impair: {}={}: must be {}", key, value, wanted));
}

Result<void> set(Impairments& direction, std::string_view key, std::string_view name, std::string_view value) {
    constexpr std::pair<std::string_view, double Impairments::*> probabilities[] = {
        {"loss", &Impairments::loss},
        {"duplicate", &Impairments::duplicate},
        {"reorder", &Impairments::reorder},
        {"corrupt", &Impairments::corrupt}};
    for (const auto& [known, member] : probabilities) {
        if (name != known) continue;
        const auto parsed = probability(value);
        if (!parsed) return wrong(key, value, "a probability from 0 to 1");
        direction.*member = *parsed;
        return {};
    }
    if (name == "delay" || name == "jitter") {
        const auto parsed = duration(value);
        if (!parsed) return wrong(key, value, "a time such as 100us, at most 60s");
        (name == "delay" ? direction.delay : direction.jitter) = *parsed;
        return {};
    }
    return failure(EINVAL, fmt::format("impair: unknown key `{}`; known are loss, duplicate, reorder, corrupt, delay, "
                                       "jitter (each also with rx. or tx. before it) and seed",
                                       key));
}

}  // namespace

Result<ImpairSpec> parse_impairments(std::string_view text) {
    ImpairSpec spec;
    while (!text.empty()) {
        const auto item = text.substr(0, text.find(','));
        text.remove_prefix(std::min(item.size() + 1, text.size()));
        const auto equals = item.find('=');
        if (equals == item.npos) return failure(EINVAL, fmt::format("impair: `{}` is not key=value", item));
        const auto key = item.substr(0, equals), value = item.substr(equals + 1);
        if (key == "seed") {
            const auto parsed = number<std::uint64_t>(value);
            if (!parsed || !parsed->second.empty()) return wrong(key, value, "a whole number");
            spec.seed = parsed->first;
            continue;
        }
        const bool rx_only = key.starts_with("rx."), tx_only = key.starts_with("tx.");
        const auto name = rx_only || tx_only ? key.substr(3) : key;
        if (!tx_only) {
            if (auto done = set(spec.rx, key, name, value); !done) return std::unexpected(done.error());
        }
        if (!rx_only) {
            if (auto done = set(spec.tx, key, name, value); !done) return std::unexpected(done.error());
        }
    }
    return spec;
}

}  // namespace verbline::pmd
