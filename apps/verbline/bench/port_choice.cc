// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/port_choice.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace verbline::bench {

Result<PortChoice> choose_ports(const PortTexts& typed, std::span<const pmd::DeviceSpec> devices) {
    auto texts = typed;
    if (texts.offloads.empty() || texts.offloads == "true") texts.offloads = "all";
    if (texts.offloads == "false") texts.offloads = "none";
    auto offloads = pmd::parse_offloads(texts.offloads);
    if (!offloads) return failure(EINVAL, "--offloads: " + offloads.error().what);
    PortChoice choice{.texts = texts, .offloads = std::move(*offloads)};
    if (!texts.rss_types.empty())
        if (auto good = pmd::choose_rss_types(texts.rss_types, choice.offloads); !good)
            return failure(EINVAL, "--rss-types: " + good.error().what);
    const auto dpdk = [](const auto& device) { return std::holds_alternative<pmd::DpdkSpec>(device); };
    if (choice.offloads.named.empty() || std::ranges::all_of(devices, dpdk)) return choice;
    return failure(EINVAL, fmt::format("--{}: only ports of DPDK (dpdk:) have any to choose",
                                       texts.rss_types.empty() ? "offloads" : "rss-types"));
}

}  // namespace verbline::bench
