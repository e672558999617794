// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/statistics.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace verbline::net_ipoib {
namespace {

/// Drops of what was for others, which a switch or a hub hands to everyone.
constexpr std::array<std::string_view, 5> of_others{"rx_dropped_address", "rx_dropped_multicast",
                                                    "rx_dropped_own_multicast", "rx_dropped_qpn", "rx_dropped_foreign"};

std::uint64_t value_of(const Statistics::Values& values, std::string_view name) {
    const auto found = values.find(name);
    return found != values.end() ? found->second : 0;
}

}  // namespace

CounterVisitor Statistics::reader(Values& into) {
    return [&into](std::string_view name, std::uint64_t value, std::string_view) { into[std::string(name)] += value; };
}

Statistics::Values Statistics::since_reset(const Values& now) const {
    auto sums = past_;
    for (const auto& [name, value] : now) sums[name] += value;
    for (const auto& [name, value] : zeros_) sums[name] -= value;
    return sums;
}

void Statistics::keep(const Values& last) {
    for (const auto& [name, value] : last) past_[name] += value;
}

void Statistics::reset(const Values& now) {
    zeros_ = past_;
    for (const auto& [name, value] : now) zeros_[name] += value;
}

Totals totals_of(const Statistics::Values& values) {
    Totals totals{.rx_frames = value_of(values, "rx_frames"),
                  .rx_bytes = value_of(values, "rx_frame_bytes"),
                  .rx_no_buffer = value_of(values, "rx_dropped_no_mbuf"),
                  .tx_frames = value_of(values, "tx_frames"),
                  .tx_bytes = value_of(values, "tx_frame_bytes")};
    for (const auto& [name, value] : values) {
        const bool foreign = std::ranges::find(of_others, name) != of_others.end();
        if (name.starts_with("rx_dropped_") && !foreign) totals.rx_errors += value;
        if (name.starts_with("tx_dropped_")) totals.tx_errors += value;
    }
    return totals;
}

}  // namespace verbline::net_ipoib
