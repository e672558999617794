// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A device without a wire, to measure what the rest of the port costs: each burst receives the same frame, as a host
/// of the soft fabric would send it, and what is sent is freed.

#include <cstdint>
#include <memory>
#include <vector>

#include "datapath/ipoib/interface.h"
#include "pmd/netdev.h"
#include "pmd/packet_pools.h"

namespace verbline::net_ipoib {

class NullCarrier final : public pmd::NetDevice {
public:
    /// The port, and the host that sends to it.
    static const ipoib::Identity& own();
    static const ipoib::Identity& host();

    /// `packet`: bytes of the IP packet. ENOMEM: no buffer.
    static Result<std::unique_ptr<NullCarrier>> create(const pmd::PacketPools& pools, std::uint16_t queues,
                                                       std::uint32_t packet);

    std::string_view name() const override { return "null"; }
    const pmd::Capabilities& capabilities() const override { return capabilities_; }
    Result<void> up() override { return {}; }
    void down() override {}
    bool link_up() override { return true; }
    std::uint16_t rx_burst(std::uint16_t queue, pmd::Burst burst) noexcept override;
    std::uint16_t tx_burst(std::uint16_t queue, pmd::Burst burst) noexcept override;

private:
    NullCarrier(const pmd::PacketPools& pools, std::uint16_t queues, std::vector<std::byte> frame);

    pmd::PacketPools pools_;
    std::vector<std::byte> frame_;
    pmd::Capabilities capabilities_;
};

}  // namespace verbline::net_ipoib
