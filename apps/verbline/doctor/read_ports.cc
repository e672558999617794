// SPDX-License-Identifier: BSD-3-Clause
#include <charconv>
#include <span>

#include <fmt/format.h>

#include "apps/verbline/doctor/fact_reader.h"

namespace verbline::doctor {
namespace {

constexpr std::string_view pci_devices = "sys/bus/pci/devices";

/// Classes 0x0200 (Ethernet) and 0x0207 (InfiniBand), with any programming interface.
bool is_port(std::int64_t pci_class) {
    return pci_class >> 8 == 0x0200 || pci_class >> 8 == 0x0207;
}

/// "16.0 GT/s PCIe", or "8 GT/s" of older kernels; "Unknown" is none.
std::optional<double> gigatransfers(const std::optional<std::string>& text) {
    double value = 0;
    if (!text || !text->contains("GT/s")) return std::nullopt;
    const auto parsed = std::from_chars(text->data(), text->data() + text->size(), value);
    return parsed.ec == std::errc() && value > 0 ? std::optional(value) : std::nullopt;
}

/// 0 and 255 mean unknown.
std::optional<std::int64_t> lanes(std::optional<std::int64_t> number) {
    return number && *number >= 1 && *number <= 32 ? number : std::nullopt;
}

/// The PCI Express capability in a function's configuration space; 0: there is none, or it is not readable.
std::size_t express_capability(std::span<const unsigned char> config) {
    constexpr std::size_t first_pointer = 0x34, header = 0x40;
    constexpr unsigned express = 0x10;
    std::size_t at = config.size() > header ? config[first_pointer] & 0xfcu : 0;
    for (int left = 48; left > 0 && at >= header && at + 1 < config.size(); --left) {  // a list may have a loop
        if (config[at] == express) return at;
        at = config[at + 1] & 0xfcu;
    }
    return 0;
}

}  // namespace

std::vector<Port> FactReader::ports() const {
    std::vector<Port> ports;
    for (const auto& address : root_.entries(pci_devices))
        if (is_port(root_.number(fmt::format("{}/{}/class", pci_devices, address)).value_or(0)))
            ports.push_back(port(address));
    return ports;
}

Port FactReader::port(const std::string& address) const {
    const auto device = fmt::format("{}/{}", pci_devices, address);
    return {.address = address,
            .vendor = root_.number(device + "/vendor").value_or(0),
            .device = root_.number(device + "/device").value_or(0),
            .driver = root_.link_name(device + "/driver").value_or(""),
            .virtual_function = root_.exists(device + "/physfn"),
            .node = root_.number(device + "/numa_node"),
            .link = pci_link(device),
            .max_read_request = max_read_request(device),
            .iommu_domain = root_.text(device + "/iommu_group/type"),
            .interfaces = interfaces(device),
            .rdma_devices = rdma_devices(device),
            .enable_roce = {}};
}

PciLink FactReader::pci_link(const std::string& device) const {
    return {.gigatransfers = gigatransfers(root_.text(device + "/current_link_speed")),
            .max_gigatransfers = gigatransfers(root_.text(device + "/max_link_speed")),
            .width = lanes(root_.number(device + "/current_link_width")),
            .max_width = lanes(root_.number(device + "/max_link_width"))};
}

std::optional<unsigned> FactReader::max_read_request(const std::string& device) const {
    constexpr std::size_t device_control = 8;
    const auto bytes = root_.bytes(device + "/config");
    if (!bytes) return std::nullopt;
    const std::span config(reinterpret_cast<const unsigned char*>(bytes->data()), bytes->size());
    const auto at = express_capability(config);
    if (at == 0 || at + device_control + 1 >= config.size()) return std::nullopt;
    const unsigned exponent = config[at + device_control + 1] >> 4 & 7u;  // bits 14 to 12
    return exponent <= 5 ? std::optional(128u << exponent) : std::nullopt;
}

}  // namespace verbline::doctor
