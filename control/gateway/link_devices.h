// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The devices of a gateway's links: a port's own, or a VLAN of one that several ports name.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "control/gateway/config.h"
#include "pmd/base/error.h"
#include "pmd/factory/open_device.h"
#include "pmd/netdev.h"
#include "pmd/vlan/trunk.h"

namespace verbline::gateway {

/// MTU including the encapsulation that the link adds, for devices that need the size of a frame; a VLAN's tag is not
/// counted (IEEE 802.3, 3.2.7).
std::uint16_t frame_mtu(const PortConfig& port);

/// While the ports are opened; the devices live on.
class LinkDevices {
public:
    /// `config` is checked: ports that share a device differ in their VLANs.
    explicit LinkDevices(const GatewayConfig& config) : config_(config) {}

    /// The device of `port`, one of the configuration's, which `specs` name.
    Result<std::unique_ptr<pmd::NetDevice>> open(const PortConfig& port, std::span<const pmd::DeviceSpec> specs,
                                                 const pmd::OpenOptions& options);

private:
    /// Whether `port` is one of the VLANs of its device.
    bool shared(const PortConfig& port) const;

    const GatewayConfig& config_;
    std::vector<std::pair<std::vector<std::string>, std::shared_ptr<pmd::vlan::Trunk>>> trunks_;  ///< by `devices`
};

}  // namespace verbline::gateway
