// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The DPDK environment of a benchmark: no hugepages, no PCI devices, no shared files, so that it runs anywhere.
/// Including this header is enough; `packet_pool()` holds buffers as large as the program's own.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <sched.h>

#include "pmd/packet_pool.h"

namespace verbline::bench {

[[noreturn]] inline void cannot_start() {
    std::cerr << "cannot start DPDK: " << rte_strerror(rte_errno) << '\n';
    std::exit(1);
}

/// Starts the environment, if it has not been, and makes a pool.
inline rte_mempool* make_pool(const char* name, unsigned buffers, std::uint16_t data_room) {
    [[maybe_unused]] static const bool started = [] {
        std::array<std::string, 8> words{"bench",          "--no-huge",        "-m", "1024", "--no-pci", "--no-shconf",
                                         "--no-telemetry", "--log-level=error"};
        std::array<char*, words.size()> arguments;
        for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
        // The EAL pins the calling thread to its main lcore: where this one may run is for `taskset` to say.
        cpu_set_t cpus;
        sched_getaffinity(0, sizeof(cpus), &cpus);
        if (rte_eal_init(static_cast<int>(arguments.size()), arguments.data()) < 0) cannot_start();
        sched_setaffinity(0, sizeof(cpus), &cpus);
        return true;
    }();
    auto* const pool = pmd::make_packet_pool(name, buffers, 256, data_room, SOCKET_ID_ANY, pmd::BufferLayout::packed);
    if (pool == nullptr) cannot_start();
    return pool;
}

inline rte_mempool* packet_pool() {
    static rte_mempool* const pool = make_pool("packets", 16383, RTE_PKTMBUF_HEADROOM + 2304);
    return pool;
}

}  // namespace verbline::bench
