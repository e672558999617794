// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/hub/lane_options.h"

#include <fmt/format.h>

#include "control/hub/directory.h"
#include "pmd/impair/spec.h"

namespace verbline::cli {
namespace {

constexpr unsigned smallest_mtu = 1280, largest_mtu = 9600;  // RFC 8200, 5; what Ethernet adapters can do at most

}  // namespace

void LaneOptions::declare(CLI::App& app) {
    app.add_option("NAME", options_.name, fmt::format("of the {}", kind_))->required();
    const auto of_user = [&](const char* option, std::size_t& value, std::string_view what) {
        app.add_option(option, value,
                       fmt::format("most {} of a user other than the {}'s; without it, {}", what, kind_, value))
            ->type_name("N");
    };
    of_user("--user-lanes", options_.quotas.user_lanes, "programs");
    of_user("--user-groups", options_.quotas.user_groups, "multicast groups of all programs");
    of_user("--user-ports", options_.quotas.user_ports, "connection manager ports of all programs");
    of_user("--user-direct", options_.quotas.user_direct, "direct links between programs");
    app.add_option("--lane-groups", options_.quotas.lane_groups,
                   "most multicast groups of one program; without it, 256")
        ->type_name("N");
    app.add_option("--lane-ports", options_.quotas.lane_ports,
                   "most connection manager ports of one program; without it, 8192")
        ->type_name("N");
    app.add_flag_callback(
        "--no-direct", [this] { options_.direct = false; },
        fmt::format("no shared memory of two programs without the {} in between", kind_));
    app.add_option("--mtu", options_.mtu, "behind the Ethernet header; without it, 4200 or what its device carries")
        ->check(CLI::Range(smallest_mtu, largest_mtu))
        ->type_name("N");
    app.add_option("--impair", impair_, "worsen each lane, e.g. loss=0.01,seed=7")->type_name("SPEC");
}

Outcome LaneOptions::read() {
    if (!hub::valid_name(options_.name)) {
        return usage_failure(
            fmt::format("{0}: `{1}` is no {0}'s name: at most 32 letters, digits, `.`, `_` and `-`, "
                        "the first a letter or digit",
                        kind_, options_.name));
    }
    if (impair_.empty()) return {};
    const auto spec = pmd::parse_impairments(impair_);
    if (!spec) return usage_failure(fmt::format("{}: {}", kind_, spec.error().what));
    options_.impair = *spec;
    return {};
}

std::vector<std::string_view> LaneOptions::fixed_differences(const LaneOptions& other) const {
    std::vector<std::string_view> names;
    if (options_.name != other.options_.name) names.emplace_back("NAME");
    if (options_.mtu != other.options_.mtu) names.emplace_back("--mtu");
    if (options_.direct != other.options_.direct) names.emplace_back("--no-direct");
    if (impair_ != other.impair_) names.emplace_back("--impair");
    return names;
}

}  // namespace verbline::cli
