// SPDX-License-Identifier: BSD-3-Clause
// By itself, as DPDK 22.11 calls the function experimental, which the compiler is to be told of.
#include "pmd/ethdev/read_clock.h"

#include <rte_ethdev.h>

namespace verbline::pmd {

std::optional<std::uint64_t> read_clock(std::uint16_t port) noexcept {
    std::uint64_t ticks = 0;
    if (rte_eth_read_clock(port, &ticks) != 0) return std::nullopt;
    return ticks;
}

}  // namespace verbline::pmd
