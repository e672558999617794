// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A bond of DPDK's (net_bonding, mode 1, active-backup) as the device of a port. Its driver decides which member is
/// used and says nothing when that changes; switches have learnt our address by the old one.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace verbline::gateway {

class Bond {
public:
    /// nullopt: the device is no such bond, or has not started.
    static std::optional<Bond> find(std::string_view device);

    /// The member by which packets go, as DPDK names it; the last one while none has a link.
    std::string active() const;

private:
    using Ask = int (*)(std::uint16_t port);

    Bond(std::uint16_t port, Ask primary) : port_(port), primary_(primary) {}

    std::uint16_t port_;
    Ask primary_;
};

}  // namespace verbline::gateway
