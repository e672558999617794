// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/plan.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "datapath/wire/ethernet.h"
#include "datapath/wire/udp.h"

namespace verbline::bench {
namespace {

constexpr double default_seconds = 10;
constexpr std::uint16_t default_mtu = 1500, max_vlan = 4094;
constexpr std::uint32_t dynamic_ports = 16384;  ///< 49152 to 65535 (RFC 6335 6)
constexpr std::uint32_t spread_qpns = 16384;    ///< as many as ports

Time nanoseconds(double seconds) {
    return static_cast<Time>(seconds * second);
}

/// Parses what was given into `value`.
template <class Value>
Result<void> read(const std::string& text, Value& value, auto&& parse) {
    if (text.empty()) return {};
    auto parsed = parse(text);
    if (!parsed) return std::unexpected(parsed.error());
    value = std::move(*parsed);
    return {};
}

/// What `--protocol` names.
void read_protocol(const PacketTexts& texts, traffic::FrameSpec& spec) {
    using enum traffic::Encapsulation;
    spec.transport = texts.protocol == "tcp" ? traffic::Transport::tcp : traffic::Transport::udp;
    spec.encapsulation = texts.protocol == "roce1"   ? roce_v1
                         : texts.protocol == "roce2" ? roce_v2
                         : texts.protocol == "ipoib" ? ipoib
                                                     : none;
}

/// A field that frames of this protocol do not have.
Result<void> check_fields(const PacketTexts& texts, const traffic::FrameSpec& spec) {
    using enum traffic::Encapsulation;
    const auto missing = [&](std::string_view option, std::string_view field) {
        return failure(EINVAL, fmt::format("{}: frames of {} have no {}", option, texts.protocol, field));
    };
    if (spec.encapsulation == none && !texts.destination_qpn.empty()) return missing("--destination-qpn", "queue pair");
    if (spec.encapsulation == roce_v1 && !texts.source_port.empty()) return missing("--source-port", "ports");
    if (spec.encapsulation == roce_v1 && !texts.destination_port.empty()) return missing("--destination-port", "ports");
    if (spec.encapsulation == roce_v2 && !texts.destination_port.empty())
        return failure(EINVAL, "--destination-port: that of RoCE v2 is 4791");
    return {};
}

Result<void> read_fields(const PacketTexts& texts, traffic::FrameSpec& spec) {
    const auto ports = [](std::string_view option) {
        return [=](std::string_view text) { return parse_numbers(option, text, 0, UINT16_MAX); };
    };
    const auto with = [](std::string_view option, auto parse) {
        return [=](std::string_view text) { return parse(option, text); };
    };
    const auto vlan = [](std::string_view text) { return parse_numbers("--vlan", text, 1, max_vlan); };
    std::vector<Result<void>> results{
        check_fields(texts, spec),
        read(texts.destination_qpn, spec.destination_qpn, with("--destination-qpn", parse_qpns)),
        read(texts.vlan, spec.vlan, vlan),
        read(texts.source_mac, spec.source_mac, with("--source-mac", parse_macs)),
        read(texts.destination_mac, spec.destination_mac, with("--destination-mac", parse_macs)),
        read(texts.source_port, spec.source_port, ports("--source-port")),
        read(texts.destination_port, spec.destination_port, ports("--destination-port")),
        spec.ipv6 ? read(texts.source_ip, spec.source_ipv6, with("--source-ip", parse_ipv6))
                  : read(texts.source_ip, spec.source_ipv4, with("--source-ip", parse_ipv4)),
        spec.ipv6 ? read(texts.destination_ip, spec.destination_ipv6, with("--destination-ip", parse_ipv6))
                  : read(texts.destination_ip, spec.destination_ipv4, with("--destination-ip", parse_ipv4))};
    const auto wrong = std::ranges::find_if(results, [](const auto& result) { return !result; });
    return wrong == results.end() ? Result<void>() : *wrong;
}

/// A sink looks for a queue pair's datagram behind that port.
Result<void> check_roce_port(const traffic::FrameSpec& spec) {
    using enum traffic::Encapsulation;
    const auto& [first, count] = spec.destination_port;
    const bool udp =
        spec.transport == traffic::Transport::udp && (spec.encapsulation == none || spec.encapsulation == ipoib);
    if (!udp || wire::roce_v2_port < first || wire::roce_v2_port - first >= static_cast<int>(count)) return {};
    return failure(EINVAL, "--destination-port: UDP to 4791 is RoCE v2: use --protocol roce2");
}

/// Makes as many flows as are asked for out of fields that were not given: source ports, or queue pairs where there are
/// no ports, then source addresses.
void spread_flows(const PacketTexts& texts, traffic::FrameSpec& spec) {
    const bool ports = spec.encapsulation != traffic::Encapsulation::roce_v1;
    if (ports && texts.source_port.empty()) spec.source_port.count = std::min(texts.flows, dynamic_ports);
    if (!ports && texts.destination_qpn.empty()) spec.destination_qpn.count = std::min(texts.flows, spread_qpns);
    if (!texts.source_ip.empty()) return;
    const auto spread = ports ? spec.source_port.count : spec.destination_qpn.count;
    const auto addresses = (texts.flows + spread - 1) / spread;
    spec.source_ipv4.count = spec.source_ipv6.count = std::max(1u, addresses);
}

Result<void> make_frames(const PacketTexts& texts, PacketPlan& plan) {
    auto sizes = traffic::SizeMix::parse(texts.size);
    if (!sizes) return failure(EINVAL, "--size: " + sizes.error().what);
    plan.sizes = std::move(*sizes);
    plan.protocol = texts.protocol;
    traffic::FrameSpec spec{.ipv6 = texts.ipv6};
    read_protocol(texts, spec);
    if (auto good = read_fields(texts, spec); !good) return good;
    if (auto good = check_roce_port(spec); !good) return good;
    if (texts.flows > 0) spread_flows(texts, spec);
    auto frames = traffic::FrameTemplate::make(spec, plan.sizes);
    if (!frames) return failure(EINVAL, "--size: " + frames.error().what);
    plan.frames = std::move(*frames);
    plan.flows = plan.frames.flows();
    if (texts.flows > plan.flows)
        return failure(EINVAL,
                       fmt::format("--flows: the ranges given make {} flows only; widen one of them", plan.flows));
    if (texts.flows > 0) plan.flows = texts.flows;
    return {};
}

/// The MTU that the largest frame needs, or the one given, if it does.
Result<void> check_mtu(const PacketTexts& texts, PacketPlan& plan) {
    const auto headers = wire::Ethernet::size + traffic::fcs + (texts.vlan.empty() ? 0 : wire::Vlan::size);
    const auto needed = static_cast<std::uint16_t>(plan.sizes.largest() - headers);
    plan.mtu = texts.mtu != 0 ? static_cast<std::uint16_t>(texts.mtu) : std::max(default_mtu, needed);
    if (needed <= plan.mtu || !plan.sends()) return {};
    return failure(EINVAL, fmt::format("--size: frames of {} bytes are above the MTU of {}, which allows {}",
                                       plan.sizes.largest(), plan.mtu, plan.mtu + headers));
}

Result<void> read_timestamps(const PacketTexts& texts, PacketPlan& plan) {
    if (texts.timestamps == "tsc") return {};
    plan.timestamps = Timestamps::hardware;
    if (plan.role != Role::loopback)
        return failure(EINVAL, "--timestamps: only --role loopback, which sends and receives, measures latency");
    for (std::size_t i = 0; i < plan.devices.size(); ++i)
        if (plan.receives_by(i) && !std::holds_alternative<pmd::DpdkSpec>(plan.devices[i]))
            return failure(EINVAL, fmt::format("--timestamps: {} is no port of DPDK (dpdk:), which alone date frames",
                                               texts.devices[i]));
    return {};
}

Result<void> read_flow_rules(const PacketTexts& texts, PacketPlan& plan) {
    plan.roce_rules = texts.flow_rules == "roce", plan.isolated = texts.isolated;
    if (plan.isolated && !plan.roce_rules)
        return failure(EINVAL, "--isolated: without rules nothing is received; give --flow-rules, too");
    if (!plan.roce_rules) return {};
    if (!plan.receives())
        return failure(EINVAL, "--flow-rules: only --role sink and loopback have queues that rules send frames to");
    if (plan.software_rss) return failure(EINVAL, "--flow-rules: the device spreads frames; leave out --software-rss");
    for (std::size_t i = 0; i < plan.devices.size(); ++i)
        if (plan.receives_by(i) && !std::holds_alternative<pmd::DpdkSpec>(plan.devices[i]))
            return failure(EINVAL, fmt::format("--flow-rules: {} is no port of DPDK (dpdk:), which alone have rules",
                                               texts.devices[i]));
    return {};
}

Result<void> read_devices(const PacketTexts& texts, PacketPlan& plan) {
    const bool one = plan.role == Role::generator || plan.role == Role::sink;
    if (texts.devices.empty() || texts.devices.size() > (one ? 1 : 2))
        return failure(EINVAL, fmt::format("a {} has {}", texts.role, one ? "one DEVICE" : "one DEVICE or two"));
    plan.bidirectional = texts.bidirectional;
    if (plan.bidirectional && (plan.role != Role::loopback || texts.devices.size() != 2))
        return failure(EINVAL, "--bidirectional needs --role loopback and two DEVICEs");
    if (plan.directions() * plan.queues > traffic::Stamp::max_streams)
        return failure(EINVAL, fmt::format("--queues: {} of both directions are above {}, which stamps can tell apart",
                                           plan.directions() * plan.queues, traffic::Stamp::max_streams));
    for (const auto& text : texts.devices) {
        auto spec = pmd::parse_device_spec(text);
        if (!spec) return std::unexpected(spec.error());
        plan.devices.push_back(std::move(*spec));
    }
    plan.device_texts = texts.devices;
    auto ports = choose_ports(texts.ports, plan.devices);
    if (!ports) return std::unexpected(ports.error());
    plan.ports = std::move(*ports);
    if (!texts.ports.rss_types.empty() && plan.queues < 2)
        return failure(EINVAL, "--rss-types: one queue gets all; give --queues, too");
    if (auto good = read_timestamps(texts, plan); !good) return good;
    return read_flow_rules(texts, plan);
}

Result<void> read_run(const PacketTexts& texts, PacketPlan& plan) {
    if (auto good = read(texts.rate, plan.rate, parse_rate); !good) return good;
    if (auto good = read(texts.lcores, plan.lcores, parse_lcores); !good) return good;
    if (auto good = read(texts.impair, plan.impair, pmd::parse_impairments); !good) return good;
    if (texts.frames != 0) plan.frame_limit = texts.frames;
    if (texts.seconds > 0) {
        plan.duration = nanoseconds(texts.seconds);
    } else if (texts.frames == 0 && !texts.soak) {
        plan.duration = nanoseconds(default_seconds);
    }
    plan.trial = nanoseconds(texts.trial_seconds);
    plan.catch_up = nanoseconds(texts.catch_up_ms / 1000);
    plan.resolution = texts.resolution_percent / 100;
    plan.accepted_loss = texts.accepted_loss_percent / 100;
    plan.search = texts.search == "throughput"     ? Search::throughput
                  : texts.search == "loss"         ? Search::loss
                  : texts.search == "back-to-back" ? Search::back_to_back
                                                   : Search::none;
    if (plan.search != Search::none && plan.role != Role::loopback)
        return failure(EINVAL, "--rfc2544 needs --role loopback, which knows what was sent and what arrived");
    if (plan.search != Search::none && (texts.soak || texts.frames != 0))
        return failure(EINVAL, "--rfc2544 decides itself how long to send: leave out --soak and --frames");
    return {};
}

}  // namespace

Result<PacketPlan> make_plan(const PacketTexts& texts) {
    PacketPlan plan;
    plan.role = texts.role == "generator"   ? Role::generator
                : texts.role == "sink"      ? Role::sink
                : texts.role == "forwarder" ? Role::forwarder
                                            : Role::loopback;
    plan.rewrite = texts.forward == "macswap" ? traffic::Rewrite::swap_macs : traffic::Rewrite::none;
    plan.queues = texts.queues, plan.burst = texts.burst;
    plan.software_rss = texts.software_rss, plan.soak = texts.soak;
    for (const auto& step : {read_devices, make_frames, check_mtu, read_run}) {
        if (auto good = step(texts, plan); !good) return std::unexpected(good.error());
    }
    return plan;
}

}  // namespace verbline::bench
