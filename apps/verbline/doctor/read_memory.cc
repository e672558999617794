// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "apps/verbline/doctor/fact_reader.h"

namespace verbline::doctor {
namespace {

/// The word in brackets: "always [madvise] never".
std::optional<std::string> selected(std::string_view text) {
    const auto begin = text.find('[');
    const auto end = text.find(']');
    if (begin == text.npos || end == text.npos || end < begin) return std::nullopt;
    return std::string(text.substr(begin + 1, end - begin - 1));
}

/// 2048 of "hugepages-2048kB".
std::optional<std::uint64_t> page_size(std::string_view name) {
    constexpr std::string_view before = "hugepages-", behind = "kB";
    if (!name.starts_with(before) || !name.ends_with(behind)) return std::nullopt;
    name = name.substr(before.size(), name.size() - before.size() - behind.size());
    const auto size = parse_number(name);
    return size && *size > 0 ? std::optional<std::uint64_t>(*size) : std::nullopt;
}

}  // namespace

Memory FactReader::memory() const {
    Memory memory;
    const std::string nodes = "sys/devices/system/node";
    for (const auto& name : root_.entries(nodes)) {
        const auto node = name.starts_with("node") ? parse_number(std::string_view(name).substr(4)) : std::nullopt;
        if (!node) continue;
        memory.nodes.push_back(static_cast<int>(*node));
        read_pools(memory.pools, fmt::format("{}/{}/hugepages", nodes, name), static_cast<int>(*node));
    }
    if (memory.nodes.empty()) read_pools(memory.pools, "sys/kernel/mm/hugepages", 0);  // a kernel without NUMA
    memory.transparent = selected(root_.text("sys/kernel/mm/transparent_hugepage/enabled").value_or(""));
    return memory;
}

void FactReader::read_pools(std::vector<HugepagePool>& pools, const std::string& directory, int node) const {
    for (const auto& name : root_.entries(directory)) {
        const auto size = page_size(name);
        const auto total = root_.number(fmt::format("{}/{}/nr_hugepages", directory, name));
        const auto free = root_.number(fmt::format("{}/{}/free_hugepages", directory, name));
        if (!size || !total || !free || *total < 0 || *free < 0) continue;
        pools.push_back({.node = node,
                         .page_kb = *size,
                         .total = static_cast<std::uint64_t>(*total),
                         .free = static_cast<std::uint64_t>(*free)});
    }
}

Iommu FactReader::iommu() const {
    return {.on = !root_.entries("sys/kernel/iommu_groups").empty() || !root_.entries("sys/class/iommu").empty(),
            .passthrough = kernel_option("iommu") == "pt" || kernel_option("iommu.passthrough") == "1",
            .vfio_without = root_.flag("sys/module/vfio/parameters/enable_unsafe_noiommu_mode").value_or(false)};
}

}  // namespace verbline::doctor
