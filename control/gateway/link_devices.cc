// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/link_devices.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "control/router/ethernet_port.h"
#include "datapath/ipoib/interface.h"
#include "datapath/rdma/device.h"
#include "pmd/base/clock.h"

namespace verbline::gateway {

std::uint16_t frame_mtu(const PortConfig& port) {
    if (port.type == PortType::ethernet) return static_cast<std::uint16_t>(port.mtu);
    // Packets of connections are of the link's MTU as datagrams are, but the largest have more headers.
    if (port.connected) {
        return static_cast<std::uint16_t>(ipoib::link_mtu_of(datagram_mtu(port)) + rdma::frame_overhead);
    }
    return static_cast<std::uint16_t>(port.mtu + (port.has_subnet() ? ipoib::frame_overhead : ipoib::roce_overhead));
}

const PortConfig* parent_of(const GatewayConfig& config, const PortConfig& port) {
    const auto first = std::ranges::find(config.ports, port.devices, &PortConfig::devices);
    return first == config.ports.end() || &*first == &port ? nullptr : &*first;
}

Result<std::unique_ptr<pmd::NetDevice>> LinkDevices::open(const PortConfig& port,
                                                          std::span<const pmd::DeviceSpec> specs,
                                                          const pmd::OpenOptions& options) {
    // Each partition of an adapter's port has queue pairs of its own.
    if (std::holds_alternative<pmd::HcaSpec>(specs.front())) return open_whole(port, specs, options);
    const auto same_link = [&](const auto& each) { return each.devices == port.devices && each.vlan == port.vlan; };
    if (std::ranges::count_if(config_.ports, same_link) < 2) return open_vlan(port, specs, options);
    const pmd::partition::Number number{wire::partition(port.pkey)};
    auto& trunk = partitions_[{port.devices, port.vlan}];
    if (trunk) return trunk->port(number);
    auto device = open_vlan(port, specs, options);
    if (!device) return device;
    trunk = pmd::partition::Trunk::create(std::move(*device), router::derived_mac(config_.name, port.name));
    return trunk->port(number);
}

Result<std::unique_ptr<pmd::NetDevice>> LinkDevices::open_vlan(const PortConfig& port,
                                                               std::span<const pmd::DeviceSpec> specs,
                                                               const pmd::OpenOptions& options) {
    const auto of_device = [&](const auto& each) { return each.devices == port.devices && each.vlan; };
    if (std::ranges::none_of(config_.ports, of_device)) return open_whole(port, specs, options);
    const pmd::vlan::Id vlan{port.vlan.value_or(static_cast<std::uint16_t>(pmd::vlan::untagged))};
    auto& trunk = vlans_[port.devices];
    if (trunk) return trunk->port(vlan);
    auto device = open_whole(port, specs, options);
    if (!device) return device;
    trunk = pmd::vlan::Trunk::create(std::move(*device), router::derived_mac(config_.name, port.name));
    return trunk->port(vlan);
}

/// With room for the frames of all ports that share it.
Result<std::unique_ptr<pmd::NetDevice>> LinkDevices::open_whole(const PortConfig& port,
                                                                std::span<const pmd::DeviceSpec> specs,
                                                                pmd::OpenOptions options) const {
    for (const auto& each : config_.ports) {
        if (each.devices == port.devices) options.mtu = std::max(options.mtu, frame_mtu(each));
    }
    return pmd::open_devices(specs, port.name, options, monotonic_now);
}

}  // namespace verbline::gateway
