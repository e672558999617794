// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The devices of a gateway's links: a port's own, or a VLAN or partition of one that several ports name.
///
///     device ──┬── a port's own
///              ├── vlan::Trunk ──┬── a VLAN of a port
///              │                 └── a VLAN ── partition::Trunk ── a partition of a port
///              └── partition::Trunk ── a partition of a port
///     adapter (hca:) ── each port's own, its partitions' too

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "control/gateway/config.h"
#include "pmd/base/error.h"
#include "pmd/factory/open_device.h"
#include "pmd/netdev.h"
#include "pmd/partition/trunk.h"
#include "pmd/vlan/trunk.h"

namespace verbline::gateway {

/// MTU including the encapsulation that the link adds, for devices that need the size of a frame; a VLAN's tag is not
/// counted (IEEE 802.3, 3.2.7).
std::uint16_t frame_mtu(const PortConfig& port);

/// The first of the ports that share the device of `port`; null if it is that itself.
const PortConfig* parent_of(const GatewayConfig& config, const PortConfig& port);

/// While the ports are opened; the devices live on.
class LinkDevices {
public:
    /// `config` is checked: ports that share a device differ in their VLANs or partitions.
    explicit LinkDevices(const GatewayConfig& config) : config_(config) {}

    /// The device of `port`, one of the configuration's, which `specs` name.
    Result<std::unique_ptr<pmd::NetDevice>> open(const PortConfig& port, std::span<const pmd::DeviceSpec> specs,
                                                 const pmd::OpenOptions& options);

private:
    using Devices = std::vector<std::string>;
    using Vlan = std::optional<std::uint16_t>;

    Result<std::unique_ptr<pmd::NetDevice>> open_vlan(const PortConfig& port, std::span<const pmd::DeviceSpec> specs,
                                                      const pmd::OpenOptions& options);
    Result<std::unique_ptr<pmd::NetDevice>> open_whole(const PortConfig& port, std::span<const pmd::DeviceSpec> specs,
                                                       pmd::OpenOptions options) const;

    const GatewayConfig& config_;
    std::map<Devices, std::shared_ptr<pmd::vlan::Trunk>> vlans_;
    std::map<std::tuple<Devices, Vlan>, std::shared_ptr<pmd::partition::Trunk>> partitions_;
};

}  // namespace verbline::gateway
