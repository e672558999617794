// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/doctor/fact_reader.h"

#include <algorithm>
#include <cerrno>
#include <ranges>

#include <fmt/format.h>

namespace verbline::doctor {
namespace {

bool is_called(const Port& port, const std::string& name) {
    return port.address == name || port.address == "0000:" + name ||
           std::ranges::count(port.interfaces, name, &Interface::name) != 0 ||
           std::ranges::count(port.rdma_devices, name, &RdmaDevice::name) != 0;
}

/// Those that are called so, in the order of the machine.
Result<std::vector<Port>> chosen(const std::vector<Port>& all, std::span<const std::string> names) {
    for (const auto& name : names)
        if (std::ranges::none_of(all, [&](const Port& port) { return is_called(port, name); }))
            return failure(ENODEV, fmt::format("{} is no PCI address, interface or RDMA device of an adapter on PCI; "
                                               "without it all are shown",
                                               name));
    std::vector<Port> ports;
    for (const auto& port : all)
        if (std::ranges::any_of(names, [&](const std::string& name) { return is_called(port, name); }))
            ports.emplace_back(port).named = true;
    return ports;
}

}  // namespace

Result<Facts> FactReader::read(std::span<const std::string> names) {
    Facts facts;
    facts.ports = ports();
    if (!names.empty()) {
        auto those = chosen(facts.ports, names);
        if (!those) return std::unexpected(those.error());
        facts.ports = std::move(*those);
    }
    facts.boot_options = boot_options();
    facts.processor = processor();
    facts.memory = memory();
    facts.iommu = iommu();
    facts.vfio_pci = root_.exists("sys/bus/pci/drivers/vfio-pci");
    ask_devlink(facts);
    ask_ethtool(facts);
    return facts;
}

std::set<std::string> FactReader::boot_options() const {
    std::set<std::string> names;
    const auto line = root_.text("proc/cmdline");
    for (const auto part : std::views::split(line.value_or(""), ' ')) {
        const std::string_view word(part);
        if (word.contains('=')) names.emplace(word.substr(0, word.find('=')));
    }
    return names;
}

std::optional<std::string> FactReader::kernel_option(std::string_view option) const {
    const auto line = root_.text("proc/cmdline");
    std::optional<std::string> value;
    for (const auto part : std::views::split(line.value_or(""), ' ')) {
        const std::string_view word(part);
        if (word.starts_with(option) && word.substr(option.size()).starts_with('='))
            value = word.substr(option.size() + 1);
    }
    return value;
}

}  // namespace verbline::doctor
