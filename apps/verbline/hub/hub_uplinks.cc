// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/hub/hub_uplinks.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <rte_ether.h>

#include <fmt/format.h>

#include "pmd/device_queue.h"
#include "pmd/factory/open_device.h"
#include "pmd/packet/packet.h"

namespace verbline::cli {
namespace {

constexpr std::uint32_t slot_of_ethernet = 2048, slot_of_path_mtu_4096 = 4352;

bool is_dpdk(const pmd::DeviceSpec& spec) {
    return std::holds_alternative<pmd::DpdkSpec>(spec);
}

}  // namespace

/// Other ports report the MTU that they support; DPDK ports have to be configured, and few support more than
/// Ethernet's.
HubUplinks::HubUplinks(const HubOptions& options)
    : options_(options), mtu_(has_dpdk_port() ? std::uint16_t{RTE_ETHER_MTU} : HubOptions::default_mtu) {
    if (options_.mtu != 0) mtu_ = options_.mtu;
}

bool HubUplinks::has_dpdk_port() const {
    return std::ranges::any_of(options_.uplinks, is_dpdk) || (options_.node && is_dpdk(options_.node->port));
}

std::uint32_t HubUplinks::slot_size() const {
    return std::max(mtu_ <= RTE_ETHER_MTU ? slot_of_ethernet : slot_of_path_mtu_4096,
                    mtu_ + RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN + 0u);
}

Result<std::unique_ptr<pmd::NetDevice>> HubUplinks::open(const pmd::DeviceSpec& spec) const {
    // Promiscuous: frames are for the lanes' MAC addresses, not for the interface's.
    if (const auto* ethernet = std::get_if<pmd::EthernetSpec>(&spec); ethernet != nullptr && !options_.node) {
        return pmd::AfPacket::create({.interface = ethernet->interface, .promiscuous = true}, pool_);
    }
    return pmd::open_device(spec, {.pool = pool_,
                                   .mtu = mtu_,
                                   .queues = static_cast<std::uint16_t>(fabric_->shards()),
                                   .memif_slot = slot_size(),
                                   .persistent = false,
                                   .bridged = !options_.node});
}

Outcome HubUplinks::add(std::vector<std::unique_ptr<pmd::NetDevice>> queues) {
    const auto longest = queues.front()->capabilities().max_packet - RTE_ETHER_HDR_LEN;
    std::vector<std::string> names;
    for (const auto& queue : queues) names.emplace_back(queue->name());
    if (options_.mtu > longest) {
        return run_failure(
            fmt::format("{} carries no more than {} bytes: give --mtu {}", names.front(), longest, longest));
    }
    mtu_ = static_cast<std::uint16_t>(std::min<std::uint32_t>(mtu_, longest));
    for (const auto& queue : queues) {
        if (auto up = queue->up(); !up) return run_failure(up.error().what);
    }
    const auto ports = fabric_->add_uplink(std::move(queues));
    if (!ports) return run_failure(ports.error().what);
    for (std::size_t i = 0; i < ports->size(); ++i) ports_.emplace(names[i], (*ports)[i]);
    const auto several = fmt::format("{} ({} queues)", names.front(), names.size());
    names_.push_back(names.size() > 1 ? several : names.front());
    return {};
}

Outcome HubUplinks::add_all() {
    for (const auto& spec : options_.uplinks) {
        auto device = open(spec);
        if (!device) return run_failure(device.error().what);
        if (auto added = add(pmd::DeviceQueue::split(std::move(*device))); !added) return added;
    }
    return {};
}

}  // namespace verbline::cli
