// SPDX-License-Identifier: BSD-3-Clause
// Two processes, one of which dies without a word.
#include <array>
#include <atomic>
#include <cstdlib>

#include <sys/prctl.h>

#include "tests/pmd/memif/ends.h"
#include "tests/pmd/memif/peer.h"

namespace verbline::pmd {
namespace {

using namespace test_ends;

/// Polls as a shard and its control thread do, until killed with its parent.
void echo_forever(bool as_server) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const char* path = std::getenv("VERBLINE_TEST_SOCKET");
    ASSERT_NE(path, nullptr) << "a role for a second process, not a test";
    const auto device = open({.path = path, .server = as_server});
    const std::jthread control([&] {
        for (;;) device->link_up(), std::this_thread::sleep_for(1ms);
    });
    for (std::array<rte_mbuf*, 32> burst;;) {
        const auto n = device->rx_burst(0, burst);
        const auto sent = device->tx_burst(0, std::span(burst).first(n));
        rte_pktmbuf_free_bulk(burst.data() + sent, n - sent);
        if (n == 0) std::this_thread::yield();
    }
}
TEST(Role, DISABLED_Client) {
    echo_forever(false);
}
TEST(Role, DISABLED_Server) {
    echo_forever(true);
}

/// Sends and receives at full speed while the peer is killed again and again.
void survives(const MemifOptions& options, const char* role) {
    const auto device = open(options);
    std::atomic<std::uint64_t> echoed{0};
    const std::jthread shard([&](const std::stop_token& stop) {
        std::array<rte_mbuf*, 32> burst;
        while (!stop.stop_requested()) {
            if (rte_pktmbuf_alloc_bulk(packet_pool(), burst.data(), burst.size()) == 0) {
                for (auto* packet : burst) rte_pktmbuf_append(packet, 2000);
                const auto sent = device->tx_burst(0, burst);
                rte_pktmbuf_free_bulk(burst.data() + sent, static_cast<unsigned>(burst.size() - sent));
            }
            const auto n = device->rx_burst(0, burst);
            rte_pktmbuf_free_bulk(burst.data(), n);
            echoed += n;
        }
    });
    for (unsigned round = 0; round < 4; ++round) {
        test::Peer peer(role, options.path);
        const auto before = echoed.load();
        ASSERT_TRUE(wait_for([&] { return device->link_up() && echoed > before + 1000; })) << round;
        peer.kill_now();
        ASSERT_TRUE(wait_for([&] { return !device->link_up(); })) << round;
    }
    EXPECT_EQ(counter(*device, "link_losses"), 4u);
}

TEST_F(MemifTest, SurvivesItsClientsDeathUnderLoad) {
    survives(server, "Role.DISABLED_Client");
}
TEST_F(MemifTest, SurvivesItsServersDeathUnderLoad) {
    survives(client, "Role.DISABLED_Server");
}

}  // namespace
}  // namespace verbline::pmd
