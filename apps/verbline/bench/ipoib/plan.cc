// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/ipoib/plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "apps/verbline/bench/values.h"

namespace verbline::ipoib_bench {
namespace {

using link::Carrier;

/// A ring of memory: what is sent comes back, without hardware.
constexpr auto usual_device = "dpdk:net_ring0";
constexpr Time least_slice = 100 * microsecond;

struct CarrierName {
    Carrier carrier;
    std::string_view name;
};
constexpr std::array carrier_names{CarrierName{Carrier::soft_ib, "soft_ib"}, CarrierName{Carrier::roce_v1, "roce1"},
                                   CarrierName{Carrier::roce_v2_ipv4, "roce2"},
                                   CarrierName{Carrier::roce_v2_ipv6, "roce2-ipv6"}};

Result<void> read_device_texts(const IpoibTexts& texts, IpoibPlan& plan) {
    plan.device_texts = texts.devices.empty() ? std::vector<std::string>{usual_device} : texts.devices;
    if (plan.device_texts.size() > 2) return failure(EINVAL, "there is one DEVICE, or two");
    for (const auto& text : plan.device_texts) {
        auto device = pmd::parse_device_spec(text);
        if (!device) return std::unexpected(device.error());
        plan.devices.push_back(std::move(*device));
    }
    auto ports = bench::choose_ports(texts.ports, plan.devices);
    if (!ports) return std::unexpected(ports.error());
    plan.ports = std::move(*ports);
    return {};
}

Result<void> read_carriers(const IpoibTexts& texts, IpoibPlan& plan) {
    plan.links.emplace_back();
    for (std::string_view rest = texts.carriers;;) {
        const auto text = rest.substr(0, rest.find(','));
        const auto* const found = std::ranges::find(carrier_names, text, &CarrierName::name);
        if (found == carrier_names.end())
            return failure(EINVAL, fmt::format("--carrier: {} is none of soft_ib, roce1, roce2, roce2-ipv6", text));
        if (std::ranges::find(plan.links, LinkKind(found->carrier)) != plan.links.end())
            return failure(EINVAL, fmt::format("--carrier: {} is there twice", text));
        plan.links.emplace_back(found->carrier);
        if (text.size() == rest.size()) return {};
        rest.remove_prefix(text.size() + 1);
    }
}

Result<void> read_sizes(const IpoibTexts& texts, IpoibPlan& plan) {
    auto sizes = bench::parse_list("--size", texts.sizes, smallest_packet, largest_packet);
    if (!sizes) return std::unexpected(sizes.error());
    for (const auto size : *sizes) {
        if (std::ranges::find(plan.cases, Case{.size = size}) != plan.cases.end())
            return failure(EINVAL, fmt::format("--size: {} is there twice", size));
        for (const bool requests : {false, true}) plan.cases.push_back({.size = size, .requests = requests});
    }
    return {};
}

/// The time is for all measurements together.
Result<void> share_time(const IpoibTexts& texts, IpoibPlan& plan) {
    const auto slices = static_cast<double>(plan.rounds * plan.cases.size() * plan.links.size());
    plan.slice = static_cast<Time>(texts.seconds * second / slices);
    if (plan.slice >= least_slice) return {};
    return failure(EINVAL, fmt::format("--seconds: {} measurements need {} at least", slices,
                                       slices * static_cast<double>(least_slice) / second));
}

}  // namespace

std::string_view name_of(LinkKind kind) {
    if (!kind) return "ethernet";
    return std::ranges::find(carrier_names, *kind, &CarrierName::carrier)->name;
}

Result<IpoibPlan> make_plan(const IpoibTexts& texts) {
    IpoibPlan plan{.mtu = static_cast<std::uint16_t>(texts.mtu), .burst = texts.burst, .rounds = texts.rounds};
    for (const auto& step : {read_device_texts, read_carriers, read_sizes, share_time}) {
        if (auto good = step(texts, plan); !good) return std::unexpected(good.error());
    }
    if (texts.lcores.empty()) return plan;
    auto lcores = bench::parse_lcores(texts.lcores);
    if (!lcores) return std::unexpected(lcores.error());
    plan.lcores = std::move(*lcores);
    return plan;
}

}  // namespace verbline::ipoib_bench
