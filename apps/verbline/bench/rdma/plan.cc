// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/plan.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "apps/libibverbs/settings/fabric_port.h"
#include "apps/verbline/bench/rdma/messages.h"
#include "apps/verbline/bench/values.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/text.h"
#include "pmd/impair/spec.h"

namespace verbline::rdma_bench {
namespace {

// perftest's, so that the same options measure the same.
constexpr std::uint32_t bandwidth_size = 65536, latency_size = 2, atomic_size = 8, first_size = 2;
constexpr std::uint32_t bandwidth_depth = 128, latency_depth = 1;
constexpr std::uint64_t usual_iterations = 1000, write_bandwidth_iterations = 5000;
constexpr std::uint32_t usual_moderation = 100, largest_moderated = 8192;

Result<wire::Gid> parse_server(const std::string& text) {
    if (const auto v4 = wire::from_string<wire::Ipv4Address>(text)) return link::gid_of(*v4);
    if (const auto v6 = wire::from_string<wire::Gid>(text); v6 && *v6 != wire::Gid{} && !v6->multicast()) return *v6;
    return failure(EINVAL, fmt::format("{} is no IPv4 or IPv6 address of a server", text));
}

Result<void> add_link(const std::string& text, RdmaPlan& plan) {
    auto link = verbs::parse_link(text);
    if (!link) return std::unexpected(link.error());
    plan.links.push_back(std::move(*link));
    return {};
}

/// Of a soft fabric, also by a node: its ports have LIDs and GIDs of the subnet's.
Result<void> check_fabric(const RdmaTexts& texts, const RdmaPlan& plan) {
    if (!verbs::fabric_of(plan.links.front())) return {};
    if (!texts.roce.empty())
        return failure(EINVAL,
                       fmt::format("--roce: {} is on a fabric, which has no RoCE: leave --roce out", texts.link));
    if (!texts.addresses.empty())
        return failure(EINVAL,
                       fmt::format("--ip: the port of {} has a GID of its fabric's: leave --ip out", texts.link));
    if (plan.server && link::ipv4_of(*plan.server))
        return failure(EINVAL, fmt::format("{}: on a fabric the server is named by the GID that it prints, such as "
                                           "fe80::10:3",
                                           texts.server));
    return {};
}

Result<void> read_links(const RdmaTexts& texts, RdmaPlan& plan) {
    if (texts.link.empty()) return failure(EINVAL, "no LINK given, such as eth:eth1");
    if (!texts.server.empty() && !texts.both.empty())
        return failure(EINVAL, "--both has the server in this process: leave SERVER out");
    plan.role = !texts.both.empty() ? Role::both : texts.server.empty() ? Role::server : Role::client;
    if (auto good = add_link(texts.link, plan); !good) return good;
    if (plan.role == Role::both)
        if (auto good = add_link(texts.both, plan); !good) return good;
    for (const auto& text : texts.addresses) {
        const auto address = link::parse_interface_address(text);
        if (!address || !usable(*address))
            return failure(EINVAL, fmt::format("--ip: {} is no address such as 10.1.0.1/24 or fd00::1/64", text));
        plan.addresses.push_back(*address);
    }
    if (!texts.server.empty()) {
        auto server = parse_server(texts.server);
        if (!server) return std::unexpected(server.error());
        plan.server = *server;
    }
    return check_fabric(texts, plan);
}

void read_names(const RdmaTexts& texts, TestSpec& spec) {
    spec.operation = texts.operation == "send"        ? Operation::send
                     : texts.operation == "write"     ? Operation::write
                     : texts.operation == "read"      ? Operation::read
                     : texts.atomic == "CMP_AND_SWAP" ? Operation::compare_swap
                                                      : Operation::fetch_add;
    spec.transport = texts.transport == "RC"   ? Transport::rc
                     : texts.transport == "UC" ? Transport::uc
                     : texts.transport == "UD" ? Transport::ud
                                               : Transport::xrc;
    spec.measure = texts.latency ? Measure::latency : Measure::bandwidth;
}

Result<void> read_test(const RdmaTexts& texts, RdmaPlan& plan) {
    auto& spec = plan.spec;
    read_names(texts, spec);
    const bool latency = spec.measure == Measure::latency;
    spec.bidirectional = texts.bidirectional;
    spec.pairs = texts.pairs, spec.rx_depth = texts.rx_depth, spec.post_list = texts.post_list;
    spec.tx_depth = texts.tx_depth != 0 ? texts.tx_depth : latency ? latency_depth : bandwidth_depth;
    spec.inline_bytes = texts.inline_bytes, spec.reads = texts.reads, spec.mtu = texts.mtu;
    if (latency && (spec.bidirectional || spec.pairs > 1 || spec.post_list > 1))
        return failure(EINVAL,
                       "--latency is of one message at a time: leave out --bidirectional, --qps and --post-list");
    if (spec.transport == Transport::ud && spec.one_sided())
        return failure(EINVAL, "--transport UD has no operation but send");
    if (spec.transport == Transport::uc && spec.awaits_response())
        return failure(EINVAL, fmt::format("--transport UC has no {}", texts.operation));
    if (spec.post_list > spec.tx_depth)
        return failure(EINVAL,
                       fmt::format("--post-list: {} requests do not fit into a send queue of {}; see --tx-depth",
                                   spec.post_list, spec.tx_depth));
    return {};
}

/// Bytes of messages, in turn.
Result<std::vector<std::uint32_t>> sizes_of(const RdmaTexts& texts, const TestSpec& spec) {
    if (texts.all && texts.size != 0) return failure(EINVAL, "--all is every size: leave --size out");
    if (spec.atomic()) {
        if (texts.all || (texts.size != 0 && texts.size != atomic_size))
            return failure(EINVAL, "an atomic is of 8 bytes: leave --size and --all out");
        return std::vector{atomic_size};
    }
    if (!texts.all) {
        const auto usual = spec.measure == Measure::latency ? latency_size : bandwidth_size;
        return std::vector{texts.size != 0 ? texts.size : usual};
    }
    std::vector<std::uint32_t> sizes;
    for (auto size = first_size; size <= largest_message; size *= 2) sizes.push_back(size);
    return sizes;
}

/// How many messages to one completion: of large messages each has its own.
std::uint32_t moderation(const RdmaTexts& texts, const TestSpec& spec, std::uint32_t size) {
    const bool each = spec.measure == Measure::latency || (!texts.all && size > largest_moderated);
    const auto wanted = texts.cq_moderation != 0 ? texts.cq_moderation : each ? 1 : usual_moderation;
    return std::min(wanted, spec.tx_depth - spec.post_list + 1);
}

Result<void> make_rounds(const RdmaTexts& texts, RdmaPlan& plan) {
    const auto& spec = plan.spec;
    auto sizes = sizes_of(texts, spec);
    if (!sizes) return std::unexpected(sizes.error());
    if (texts.iterations != 0 && texts.duration > 0)
        return failure(EINVAL, "--iterations and --duration exclude each other");
    const bool writes = spec.operation == Operation::write && spec.measure == Measure::bandwidth;
    const auto usual = writes ? write_bandwidth_iterations : usual_iterations;
    for (const auto size : *sizes) {
        Round round{.index = static_cast<std::uint32_t>(plan.rounds.size()),
                    .size = size,
                    .cq_moderation = moderation(texts, spec, size)};
        if (texts.duration > 0)
            round.duration = static_cast<Time>(texts.duration * second);
        else
            round.iterations = texts.iterations != 0 ? texts.iterations : usual;
        plan.rounds.push_back(round);
    }
    plan.spec.largest = sizes->back();
    plan.size_given = texts.size != 0;
    if (spec.transport == Transport::ud)
        if (auto good = fit(plan, spec.mtu); !good) return good;
    if (plan.spec.memory() > most_memory)
        return failure(EINVAL, fmt::format("--qps: {} queue pairs with messages of {} bytes need more than 1 GiB",
                                           spec.pairs, spec.largest));
    if (plan.spec.requests() > most_requests)
        return failure(EINVAL, fmt::format("--qps: the queues of {} queue pairs are above {} requests in all; see "
                                           "--tx-depth and --rx-depth",
                                           spec.pairs, most_requests));
    return {};
}

Result<void> read_rest(const RdmaTexts& texts, RdmaPlan& plan) {
    plan.gigabits = texts.gigabits;
    plan.port_number = static_cast<std::uint16_t>(texts.port_number);
    plan.roce = texts.roce == "v1" ? link::GidType::roce_v1 : link::GidType::roce_v2;
    if (!texts.impair.empty())
        if (const auto valid = pmd::parse_impairments(texts.impair); !valid) return std::unexpected(valid.error());
    plan.impair = texts.impair;
    if (texts.lcores.empty()) return {};
    auto lcores = bench::parse_lcores(texts.lcores);
    if (!lcores) return std::unexpected(lcores.error());
    plan.lcores = std::move(*lcores);
    return {};
}

}  // namespace

Result<RdmaPlan> make_plan(const RdmaTexts& texts) {
    RdmaPlan plan;
    for (const auto& step : {read_links, read_test, make_rounds, read_rest}) {
        if (auto good = step(texts, plan); !good) return std::unexpected(good.error());
    }
    return plan;
}

Result<void> fit(RdmaPlan& plan, std::uint32_t max_mtu) {
    plan.spec.mtu = std::min(plan.spec.mtu, max_mtu);
    if (plan.spec.transport != Transport::ud) return {};
    const auto most = plan.spec.mtu;
    if (plan.size_given && plan.spec.largest > most)
        return failure(EMSGSIZE, fmt::format("--size: a datagram is of {} bytes at most, the path MTU", most));
    if (plan.rounds.size() == 1) plan.rounds.front().size = std::min(plan.rounds.front().size, most);
    std::erase_if(plan.rounds, [&](const auto& round) { return round.size > most; });
    plan.spec.largest = plan.rounds.back().size;
    return {};
}

}  // namespace verbline::rdma_bench
