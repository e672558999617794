// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The clock of a DPDK port, by which it dates frames (RTE_ETH_RX_OFFLOAD_TIMESTAMP).

#include <cstdint>
#include <optional>

namespace verbline::pmd {

/// In units that only the driver knows. nullopt: it does not let the clock be read.
std::optional<std::uint64_t> read_clock(std::uint16_t port) noexcept;

}  // namespace verbline::pmd
