// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/link_devices.h"

#include <algorithm>
#include <string>

#include "control/router/ethernet_port.h"
#include "datapath/ipoib/interface.h"
#include "pmd/base/clock.h"

namespace verbline::gateway {

std::uint16_t frame_mtu(const PortConfig& port) {
    if (port.type == PortType::ethernet) return static_cast<std::uint16_t>(port.mtu);
    return static_cast<std::uint16_t>(port.mtu + (port.has_subnet() ? ipoib::frame_overhead : ipoib::roce_overhead));
}

bool LinkDevices::shared(const PortConfig& port) const {
    return std::ranges::any_of(config_.ports,
                               [&](const auto& each) { return each.devices == port.devices && each.vlan; });
}

Result<std::unique_ptr<pmd::NetDevice>> LinkDevices::open(const PortConfig& port,
                                                          std::span<const pmd::DeviceSpec> specs,
                                                          const pmd::OpenOptions& options) {
    if (!shared(port)) return pmd::open_devices(specs, port.name, options, monotonic_now);
    const pmd::vlan::Id vlan{port.vlan.value_or(static_cast<std::uint16_t>(pmd::vlan::untagged))};
    const auto known = std::ranges::find(trunks_, port.devices, &decltype(trunks_)::value_type::first);
    if (known != trunks_.end()) return known->second->port(vlan);

    auto largest = options;
    for (const auto& each : config_.ports) {
        if (each.devices == port.devices) largest.mtu = std::max(largest.mtu, frame_mtu(each));
    }
    auto device = pmd::open_devices(specs, port.name, largest, monotonic_now);
    if (!device) return device;
    auto trunk = pmd::vlan::Trunk::create(std::move(*device), router::derived_mac(config_.name, port.name));
    trunks_.emplace_back(port.devices, trunk);
    return trunk->port(vlan);
}

}  // namespace verbline::gateway
