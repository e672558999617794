// SPDX-License-Identifier: BSD-3-Clause
// Interfaces of the kernel's, while each system call and allocation fails once.
#include "tests/support/faults.h"

#include <array>
#include <memory>

#include <gtest/gtest.h>

#include "pmd/tun/tun.h"
#include "tests/support/faulty_pool.h"
#include "tests/support/namespace.h"
#include "tests/support/packet.h"

namespace verbline::pmd {
namespace {

using test::Outcome, test::WithoutFaults;

class TunFaults : public ::testing::TestWithParam<TunKind> {};

TEST_P(TunFaults, AnInterfaceIsMadeWhollyOrNotAtAllAndDropsByName) {
    SKIP_UNLESS_ROOT();
    const test::Namespace space;
    const auto tally = test::expect_survives_faults(GetParam() == TunKind::tun ? "tun" : "tap", [&]() -> Outcome {
        auto tun =
            Tun::create({.name = "vl0", .netns = space.path(), .kind = GetParam(), .queues = 2}, test::faulty_pool());
        if (!tun) return tun.error();
        if (auto up = (*tun)->up(); !up) return up.error();
        std::ignore = (*tun)->link_up();
        rte_mbuf* packet;
        {
            const WithoutFaults making;
            packet = test::make_packet(test::pattern(100)).release();
        }
        // What it does not take now stays ours.
        if ((*tun)->tx_burst(0, std::span(&packet, 1)) == 0) {
            EXPECT_EQ((*tun)->tx_burst(0, std::span(&packet, 1)), 1);
        }
        std::array<rte_mbuf*, 8> burst;
        for (std::uint16_t queue = 0; queue < 2; ++queue) {
            rte_pktmbuf_free_bulk(burst.data(), (*tun)->rx_burst(queue, burst));
        }
        (*tun)->down();
        return {};
    });
    EXPECT_GT(tally.errors, 10u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, TunFaults, ::testing::Values(TunKind::tun, TunKind::tap));

}  // namespace
}  // namespace verbline::pmd
