// SPDX-License-Identifier: BSD-3-Clause
// Two ends on one thread, while each of their system calls and allocations fails once.
#include "tests/support/faults.h"

#include <array>
#include <memory>

#include "tests/pmd/memif/ends.h"
#include "tests/support/faulty_pool.h"

namespace verbline::pmd {
namespace {

using namespace test_ends;
using test::Outcome, test::WithoutFaults;

struct Pair {
    std::unique_ptr<Memif> server, client;

    Outcome open(const MemifOptions& server_options, const MemifOptions& client_options) {
        for (auto [device, options] : {std::pair(&server, &server_options), std::pair(&client, &client_options)}) {
            auto opened = Memif::create(*options, test::faulty_pool());
            if (!opened) return opened.error();
            *device = std::move(*opened);
            if (auto up = (*device)->up(); !up) return up.error();
        }
        return {};
    }
    /// As two control threads do, who ask again when it did not work.
    bool meet() {
        for (unsigned round = 0; round < 50; ++round) {
            if (int{server->link_up()} + int{client->link_up()} == 2) return true;
        }
        return false;
    }
};

/// Whether `count` frames of one end arrive at the other. An empty pool puts a receive off.
bool carries(Memif& from, Memif& to, unsigned count = 3) {
    std::vector<rte_mbuf*> packets;
    {
        const WithoutFaults making;
        for (unsigned i = 0; i < count; ++i) packets.push_back(make_packet(test::pattern(100)).release());
    }
    if (from.tx_burst(0, packets) != count) return false;
    unsigned arrived = 0;
    for (unsigned poll = 0; poll < 10 && arrived < count; ++poll) {
        std::array<rte_mbuf*, 8> burst;
        const auto n = to.rx_burst(0, burst);
        rte_pktmbuf_free_bulk(burst.data(), n);
        arrived += n;
    }
    return arrived == count;
}

struct MemifFaults : MemifTest {
    bool no_socket_is_left() const { return std::filesystem::is_empty(directory); }
};

TEST_F(MemifFaults, EndsMeetCarryPartAndMeetAgain) {
    const auto tally = test::expect_survives_faults("memif: two ends", [this]() -> Outcome {
        Pair ends;
        if (auto failed = ends.open(server, client)) return failed;
        EXPECT_TRUE(ends.meet());
        EXPECT_TRUE(carries(*ends.server, *ends.client));
        EXPECT_TRUE(carries(*ends.client, *ends.server));
        ends.client->down();
        ends.server->link_up();  // it may take a second look to see that nobody is there
        EXPECT_FALSE(ends.server->link_up());
        if (auto up = ends.client->up(); !up) return up.error();
        EXPECT_TRUE(ends.meet());
        EXPECT_TRUE(carries(*ends.client, *ends.server, 1));
        return {};
    });
    EXPECT_GT(tally.calls, 50u);
    EXPECT_TRUE(no_socket_is_left());
}

TEST_F(MemifFaults, ASleepingReceiverIsWoken) {
    test::expect_survives_faults("memif: events", [this]() -> Outcome {
        Pair ends;
        if (auto failed = ends.open(server, client)) return failed;
        EXPECT_TRUE(ends.meet());
        ends.server->want_rx_event(0, true);
        EXPECT_TRUE(carries(*ends.client, *ends.server, 1));
        ends.server->want_rx_event(0, false);
        return {};
    });
}

TEST_F(MemifFaults, AServerThatCannotListenLeavesNoSocketBehind) {
    test::expect_survives_faults("memif: server", [this]() -> Outcome {
        auto device = Memif::create(server, packet_pool());
        device = failure(0, "");
        const WithoutFaults looking;
        EXPECT_TRUE(no_socket_is_left());
        return {};
    });
}

}  // namespace
}  // namespace verbline::pmd
