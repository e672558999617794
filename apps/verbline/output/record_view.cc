// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/output/record_view.h"

#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "datapath/wire/text.h"

namespace verbline::cli {
namespace {

/// Numbers that are whole without a fraction, others with at most three decimals.
Json number(double value) {
    if (value == std::floor(value)) return static_cast<std::uint64_t>(value);
    return std::round(value * 1000) / 1000;
}

}  // namespace

double lifetime_ms(std::uint8_t code) {
    return std::ldexp(0.004'096, code);
}

std::string join_state_text(wire::JoinState state) {
    namespace join = wire::join_state;
    constexpr std::array<std::pair<wire::JoinState, std::string_view>, 4> names{
        {{join::full_member, "full"},
         {join::non_member, "non-member"},
         {join::send_only_non_member, "send-only"},
         {join::send_only_full_member, "send-only-full"}}};
    std::string out;
    for (const auto& [bit, name] : names)
        if ((state & bit) != 0) out += fmt::format("{}{}", out.empty() ? "" : ",", name);
    return out.empty() ? "-" : out;
}

Json path_row(const wire::PathRecord& path) {
    return {{"source_lid", static_cast<std::uint16_t>(path.source_lid)},
            {"destination_lid", static_cast<std::uint16_t>(path.destination_lid)},
            {"source_gid", wire::to_string(path.source_gid)},
            {"destination_gid", wire::to_string(path.destination_gid)},
            {"pkey", wire::to_string(path.pkey)},
            {"sl", path.service_level},
            {"mtu", wire::mtu_bytes(path.mtu)},
            {"rate_gbps", number(wire::rate_gbps(path.rate))},
            {"lifetime_ms", number(lifetime_ms(path.lifetime))},
            {"hop_limit", path.hop_limit},
            {"traffic_class", path.traffic_class},
            {"flow_label", path.flow_label},
            {"reversible", path.reversible}};
}

Json group_row(const wire::Gid& mgid, const sa::Group& group) {
    return {{"mgid", wire::to_string(mgid)},
            {"mlid", wire::to_string(group.mlid)},
            {"qkey", fmt::format("0x{:08x}", static_cast<std::uint32_t>(group.qkey))},
            {"pkey", wire::to_string(group.pkey)},
            {"sl", group.service_level},
            {"mtu", wire::mtu_bytes(group.mtu)},
            {"rate_gbps", number(wire::rate_gbps(group.rate))}};
}

}  // namespace verbline::cli
