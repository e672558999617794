// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A device that is up and on which nothing happens: what a benchmark's own devices begin with, which receive or send
/// without a cost of their own.

#include <cstdint>
#include <string_view>

#include "pmd/netdev.h"

namespace verbline::bench {

class QuietDevice : public pmd::NetDevice {
public:
    std::string_view name() const override { return "quiet"; }
    const pmd::Capabilities& capabilities() const override { return capabilities_; }
    Result<void> up() override { return {}; }
    void down() override {}
    bool link_up() override { return true; }
    std::uint16_t rx_burst(std::uint16_t, pmd::Burst) noexcept override { return 0; }
    std::uint16_t tx_burst(std::uint16_t, pmd::Burst) noexcept override { return 0; }

protected:
    pmd::Capabilities capabilities_{};
};

}  // namespace verbline::bench
