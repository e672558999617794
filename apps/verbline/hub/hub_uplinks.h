// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The ports of a hub's switch that are no lanes: networks, or a node's port. And the MTU, which they limit.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apps/verbline/command_line/command.h"
#include "apps/verbline/hub/hub_process.h"
#include "pmd/base/error.h"
#include "pmd/bridge/switch.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::cli {

/// Control thread.
class HubUplinks {
public:
    /// `options` outlive it.
    explicit HubUplinks(const HubOptions& options);

    /// Of lanes and uplinks, behind the Ethernet header; final once all uplinks are there.
    std::uint16_t mtu() const { return mtu_; }
    /// Bytes of a frame that lies in one buffer. AF_XDP takes no buffers that are larger than a page.
    std::uint32_t slot_size() const;
    bool has_dpdk_port() const;

    /// Before those below. Both outlive it.
    void use(pmd::Switch& fabric, rte_mempool* pool) { fabric_ = &fabric, pool_ = pool; }
    Result<std::unique_ptr<pmd::NetDevice>> open(const pmd::DeviceSpec& spec) const;
    /// `queues`: of one device.
    Outcome add(std::vector<std::unique_ptr<pmd::NetDevice>> queues);
    /// Opens and adds those of the options.
    Outcome add_all();

    /// By device, of several queues by queue.
    const std::map<std::string, pmd::Switch::PortId>& ports() const { return ports_; }
    /// Of the devices, for people.
    const std::vector<std::string>& names() const { return names_; }

private:
    const HubOptions& options_;
    std::uint16_t mtu_;
    pmd::Switch* fabric_ = nullptr;
    rte_mempool* pool_ = nullptr;
    std::map<std::string, pmd::Switch::PortId> ports_;
    std::vector<std::string> names_;
};

}  // namespace verbline::cli
