// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/ethdev/roce_rules.h"

#include <array>
#include <bit>
#include <utility>

#include <fmt/format.h>

namespace verbline::pmd {
namespace {

struct Kind {
    RoceMatch match;
    std::string_view name;
    std::vector<FlowRule> rules;
};

void add_qpn_rules(std::vector<FlowRule>& rules, std::uint32_t group, std::uint16_t queues) {
    const auto remainders = std::bit_ceil(std::uint32_t{queues});
    for (const bool ipv6 : {false, true})
        for (std::uint32_t value = 0; value < remainders; ++value)
            rules.push_back({.group = group,
                             .ipv6 = ipv6,
                             .qpns = FlowRule::Qpns{.value = value, .mask = remainders - 1},
                             .action = FlowRule::ToQueue{static_cast<std::uint16_t>(value % queues)}});
}

Kind by_qpn(std::uint16_t queues) {
    Kind kind{.match = RoceMatch::qpn, .name = "by QPN", .rules = {}};
    add_qpn_rules(kind.rules, 0, queues);
    return kind;
}

Kind by_qpn_in_a_group(std::uint16_t queues) {
    constexpr std::uint32_t group = 1;
    Kind kind{.match = RoceMatch::qpn, .name = "by QPN in group 1", .rules = {}};
    for (const bool ipv6 : {false, true}) kind.rules.push_back({.ipv6 = ipv6, .action = FlowRule::ToGroup{group}});
    add_qpn_rules(kind.rules, group, queues);
    return kind;
}

Kind by_udp_port(std::uint16_t queues) {
    Kind kind{.match = RoceMatch::udp_port, .name = "by UDP port", .rules = {}};
    for (const bool ipv6 : {false, true}) {
        FlowRule rule{.ipv6 = ipv6, .action = FlowRule::ToQueue{0}};
        if (queues > 1) rule.action = FlowRule::ToQueues{queues};
        kind.rules.push_back(rule);
    }
    return kind;
}

/// All or none.
Result<void> install(FlowTable& table, const std::vector<FlowRule>& rules) {
    for (const auto& rule : rules)
        if (auto good = table.validate(rule); !good) return good;
    for (const auto& rule : rules) {
        if (auto made = table.create(rule); !made) {
            table.clear();
            return made;
        }
    }
    return {};
}

}  // namespace

std::string_view name_of(RoceMatch match) {
    constexpr std::array<std::string_view, 3> names{"none", "udp-port", "qpn"};
    return names[std::to_underlying(match)];
}

RoceRules install_roce_rules(FlowTable& table, std::uint16_t queues) {
    RoceRules found;
    std::vector<Kind> kinds;
    if (queues > 1 && table.knows_qpns()) kinds = {by_qpn(queues), by_qpn_in_a_group(queues)};
    if (queues > 1 && !table.knows_qpns()) found.refused.emplace_back("by QPN: this DPDK cannot match it; 23.07 can");
    kinds.push_back(by_udp_port(queues));
    for (const auto& [match, name, rules] : kinds) {
        const auto done = install(table, rules);
        if (done) {
            found.match = match, found.count = rules.size();
            break;
        }
        found.refused.push_back(fmt::format("{}: {}", name, done.error().what));
    }
    return found;
}

}  // namespace verbline::pmd
