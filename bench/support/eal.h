// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The DPDK environment of a benchmark: no hugepages, no PCI devices, no shared files, so that it runs anywhere.
/// Including this header is enough; `packet_pool()` holds buffers as large as the program's own.

#include <array>
#include <cstdlib>
#include <iostream>
#include <string>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

namespace verbline::bench {

inline rte_mempool* packet_pool() {
    static rte_mempool* const pool = [] {
        std::array<std::string, 8> words{"bench",          "--no-huge",        "-m", "512", "--no-pci", "--no-shconf",
                                         "--no-telemetry", "--log-level=error"};
        std::array<char*, words.size()> arguments;
        for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
        rte_mempool* made = nullptr;
        if (rte_eal_init(static_cast<int>(arguments.size()), arguments.data()) >= 0) {
            made = rte_pktmbuf_pool_create("packets", 16383, 256, 0, RTE_PKTMBUF_HEADROOM + 2304, SOCKET_ID_ANY);
        }
        if (made == nullptr) {
            std::cerr << "cannot start DPDK: " << rte_strerror(rte_errno) << '\n';
            std::exit(1);
        }
        return made;
    }();
    return pool;
}

}  // namespace verbline::bench
