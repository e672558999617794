// SPDX-License-Identifier: BSD-3-Clause
// A DPDK port while each call of DPDK's fails once: a port that works as far as its driver goes, or none.
#include "tests/support/faults.h"

#include <array>
#include <memory>

#include <rte_ethdev.h>

#include <gtest/gtest.h>

#include "pmd/ethdev/ethdev.h"
#include "tests/support/faulty_pool.h"
#include "tests/support/packet.h"

namespace verbline::pmd {
namespace {

using test::Outcome, test::WithoutFaults;

TEST(EthDeviceFaults, APortIsMadeWhollyOrNotAtAll) {
    const auto before = rte_eth_dev_count_avail();
    const auto tally = test::expect_survives_faults("ethdev", [before]() -> Outcome {
        const auto run = []() -> Outcome {
            auto made = EthDevice::create("net_null7", test::faulty_pool(), {.rx_queues = 2, .tx_queues = 2});
            if (!made) return made.error();
            auto& device = **made;
            if (auto up = device.up(); !up) return up.error();
            std::ignore = device.link_up();
            std::ignore = device.mac();
            std::ignore = device.rss();
            const wire::MacAddress us{{std::byte{2}, {}, {}, {}, {}, std::byte{1}}},
                group{{std::byte{3}, {}, {}, {}, std::byte{0xc0}, {}}};
            std::ignore = device.set_identity({.mac = us});
            std::ignore = device.attach_multicast({.mac = group, .mgid = {}, .mlid = {}});
            std::ignore = device.detach_multicast({.mac = group, .mgid = {}, .mlid = {}});
            unsigned counters = 0;
            device.counters([&](std::string_view, std::uint64_t, std::string_view) { ++counters; });
            EXPECT_GE(counters, 2u) << "ours, if not the driver's";
            std::array<rte_mbuf*, 8> burst;
            rte_pktmbuf_free_bulk(burst.data(), device.rx_burst(0, burst));
            device.down();
            return {};
        };
        auto outcome = run();
        const WithoutFaults looking;
        EXPECT_EQ(rte_eth_dev_count_avail(), before) << "the port is still there";
        return outcome;
    });
    EXPECT_GT(tally.errors, 5u);
}

}  // namespace
}  // namespace verbline::pmd
