// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "apps/verbline/doctor/checks.h"

namespace verbline::doctor {
namespace {

constexpr std::uint64_t common_page_kb = 2048;
constexpr std::uint64_t wanted_kb = 2 * 1024 * 1024;  ///< 2 GB: a gateway with a million packet buffers, or two
constexpr std::uint64_t least_lock_bytes = 1 << 30;   ///< the buffers of perftest on many queue pairs

std::string page_name(std::uint64_t kb) {
    if (kb % (1024 * 1024) == 0) return fmt::format("{} GB", kb / (1024 * 1024));
    return kb % 1024 == 0 ? fmt::format("{} MB", kb / 1024) : fmt::format("{} kB", kb);
}

/// As many pages on the node as there are, and 2 GB more.
std::string more_pages(const Memory& memory, int node, std::uint64_t page_kb) {
    const auto pool = std::ranges::find_if(
        memory.pools, [&](const HugepagePool& one) { return one.node == node && one.page_kb == page_kb; });
    const auto before = pool == memory.pools.end() ? 0 : pool->total;
    const auto directory =
        memory.nodes.empty() ? "/sys/kernel/mm" : fmt::format("/sys/devices/system/node/node{}", node);
    return fmt::format("echo {} >{}/hugepages/hugepages-{}kB/nr_hugepages",
                       before + std::max<std::uint64_t>(wanted_kb / page_kb, 1), directory, page_kb);
}

/// The size of pages that this machine has, else the common one.
std::uint64_t size_in_use(const Memory& memory) {
    const auto used = std::ranges::find_if(memory.pools, [](const HugepagePool& pool) { return pool.total > 0; });
    if (used != memory.pools.end()) return used->page_kb;
    const auto common = std::ranges::find(memory.pools, common_page_kb, &HugepagePool::page_kb);
    return common != memory.pools.end() ? common_page_kb : memory.pools.front().page_kb;
}

/// The NUMA nodes of the ports, as far as they are known.
std::set<int> nodes_of_ports(const Facts& facts) {
    std::set<int> nodes;
    for (const auto& port : facts.ports)
        if (std::ranges::count(facts.memory.nodes, port.node.value_or(-1)) != 0)
            nodes.insert(static_cast<int>(*port.node));
    return nodes;
}

Findings check_no_page_free(const Facts& facts) {
    const auto size = size_in_use(facts.memory);
    std::uint64_t total = 0;
    for (const auto& pool : facts.memory.pools) total += pool.page_kb == size ? pool.total : 0;
    const auto nodes = nodes_of_ports(facts);
    const int node = nodes.empty() ? facts.memory.pools.front().node : *nodes.begin();
    return {{.severity = facts.ports.empty() ? Severity::note : Severity::warning,
             .subject = "memory",
             .found = total == 0 ? "no huge pages of any size: packet buffers lie in pages of 4 kB"
                                 : fmt::format("all {} huge pages of {} are in use", total, page_name(size)),
             .command = more_pages(facts.memory, node, size)}};
}

Findings check_transparent(const Memory& memory) {
    if (memory.transparent != "always") return {};
    return {{.severity = Severity::note,
             .subject = "memory",
             .found = "transparent huge pages everywhere: the kernel may stop threads to make them",
             .command = "echo madvise >/sys/kernel/mm/transparent_hugepage/enabled"}};
}

Findings check_nodes(const Facts& facts) {
    Findings findings;
    std::map<int, std::map<std::uint64_t, std::uint64_t>> free;  // of each node, by size
    for (const auto& pool : facts.memory.pools)
        if (pool.free > 0) free[pool.node][pool.page_kb] += pool.free;
    for (const auto& [node, sizes] : free)
        for (const auto& [size, number] : sizes)
            findings.push_back({.severity = Severity::ok,
                                .subject = fmt::format("node{}", node),
                                .found = fmt::format("{} huge pages of {} are free", number, page_name(size))});
    for (const int node : nodes_of_ports(facts))
        if (!free.contains(node))
            findings.push_back(
                {.severity = Severity::warning,
                 .subject = fmt::format("node{}", node),
                 .found = fmt::format("has ports and no free huge page; node{} has", free.begin()->first),
                 .command = more_pages(facts.memory, node, size_in_use(facts.memory))});
    return findings;
}

}  // namespace

Findings check_hugepages(const Facts& facts) {
    const auto& pools = facts.memory.pools;
    Findings findings;
    if (std::ranges::any_of(pools, [](const HugepagePool& pool) { return pool.free > 0; }))
        findings = check_nodes(facts);
    else if (!pools.empty())
        findings = check_no_page_free(facts);
    std::ranges::move(check_transparent(facts.memory), std::back_inserter(findings));
    return findings;
}

Findings check_memory_lock(const Facts& facts) {
    const auto& limit = facts.lock_limit;
    if (!limit) return {};
    if (limit->exempt || !limit->bytes || *limit->bytes >= least_lock_bytes)
        return {{.severity = Severity::ok, .subject = "limits", .found = "memory may be locked"}};
    const bool rdma = std::ranges::any_of(facts.ports, [](const Port& port) { return !port.rdma_devices.empty(); });
    return {{.severity = rdma ? Severity::warning : Severity::note,
             .subject = "limits",
             .found = fmt::format("RDMA adapters lock memory, and only {} kB may be; log in again after this",
                                  *limit->bytes / 1024),
             .command = "echo '* - memlock unlimited' >/etc/security/limits.d/rdma.conf"}};
}

}  // namespace verbline::doctor
