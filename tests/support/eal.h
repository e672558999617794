// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The DPDK environment of a test binary: including this header is enough.
///
/// It starts once before the first test, without hugepages, PCI devices or shared files, so that any number of test
/// binaries run at the same time; and it fails the run if a test leaves packets of `packet_pool()` behind.

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <sched.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace verbline::test {

class Eal : public ::testing::Environment {
public:
    static constexpr unsigned pool_size = 8191;
    /// As the program's own pool: any InfiniBand frame of MTU 2048 is contiguous.
    static constexpr std::uint16_t data_room = RTE_PKTMBUF_HEADROOM + 2304;

    static Eal& instance() {
        static auto* eal = static_cast<Eal*>(::testing::AddGlobalTestEnvironment(new Eal));
        return *eal;
    }

    void SetUp() override {
        // The EAL pins the calling thread to its main lcore; parallel test binaries would all share that one core.
        cpu_set_t cpus;
        sched_getaffinity(0, sizeof(cpus), &cpus);
        const auto prefix = "verbline-test-" + std::to_string(getpid());
        std::array<std::string, 11> words{"test",
                                          "--no-huge",
                                          "-m",
                                          "256",
                                          "--no-pci",
                                          "--no-shconf",
                                          "--iova-mode=va",
                                          "--log-level=error",
                                          "--file-prefix",
                                          prefix,
                                          "--lcores=0@0"};
        std::vector<char*> arguments;
        for (auto& word : words) arguments.push_back(word.data());
        ASSERT_GE(rte_eal_init(static_cast<int>(arguments.size()), arguments.data()), 0) << rte_strerror(rte_errno);
        sched_setaffinity(0, sizeof(cpus), &cpus);
        pool = rte_pktmbuf_pool_create("packets", pool_size, 256, 0, data_room, SOCKET_ID_ANY);
        ASSERT_NE(pool, nullptr) << rte_strerror(rte_errno);
    }

    void TearDown() override {
        if (pool == nullptr) return;
        EXPECT_EQ(rte_mempool_in_use_count(pool), 0u) << "packets were not freed";
        std::error_code ignored;
        std::filesystem::remove_all(rte_eal_get_runtime_dir(), ignored);
        rte_eal_cleanup();
    }

    rte_mempool* pool = nullptr;
};

/// Runs before main, wherever this header is included.
inline Eal& eal = Eal::instance();

inline rte_mempool* packet_pool() {
    return eal.pool;
}

}  // namespace verbline::test
