// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The part of a port's device that is not its IPoIB interface's: what arrives for other queue pairs, as a device.
///
///     device ── rx_burst ──> IpoibInterface ── put: frames of other QPNs ──> OtherQueuePairs ── rx_burst ──>
///     rdma::Engine
///       ^────────────────────────── tx_burst ─────────────────────────────────────────────────────────────────┘
///
/// Owned by one shard, which polls both of its users. The device outlives it.

#include <array>
#include <cstddef>
#include <string_view>

#include "pmd/netdev.h"

namespace verbline::ipoib {

class OtherQueuePairs final : public pmd::NetDevice {
public:
    OtherQueuePairs(pmd::NetDevice& device, std::uint16_t queue);
    ~OtherQueuePairs() override;

    /// Replaces the device by the same one with other decorators around it.
    void set_device(pmd::NetDevice& device) { device_ = &device; }

    /// Takes ownership of a frame, unless it returns false: too many wait.
    bool put(rte_mbuf* frame) noexcept;

    std::string_view name() const override { return name_; }
    const pmd::Capabilities& capabilities() const override { return capabilities_; }
    /// The device is its owner's to take up and down.
    Result<void> up() override { return {}; }
    void down() override {}
    bool link_up() override { return true; }
    std::uint16_t rx_burst(std::uint16_t queue, pmd::Burst burst) noexcept override;
    std::uint16_t tx_burst(std::uint16_t queue, pmd::Burst burst) noexcept override;

private:
    static constexpr std::size_t most_waiting = 4 * pmd::max_burst;  // a power of two

    pmd::NetDevice* device_;
    std::string_view name_;  ///< the device's
    std::uint16_t queue_;    ///< of the device; ours is 0
    pmd::Capabilities capabilities_;
    std::array<rte_mbuf*, most_waiting> waiting_;
    std::size_t first_ = 0, end_ = 0;  ///< counted on; their difference is how many wait
};

}  // namespace verbline::ipoib
