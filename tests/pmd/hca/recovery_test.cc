// SPDX-License-Identifier: BSD-3-Clause
// Packets flow again after whatever can happen to a queue pair, a port or a device.
#include <cerrno>

#include "pmd/base/tunables.h"
#include "tests/pmd/hca/devices.h"

namespace verbline::pmd {
namespace {

using test::counter;
using test::pattern;

struct HcaRecovery : test::HcaDevices {
    HcaRecovery() { start_both(); }

    bool flows() { return crosses(*a, *b, pattern(300)) && crosses(*b, *a, pattern(400)); }
    /// Lets a device notice, by an empty poll of either direction.
    static void poll(Hca& device) {
        EXPECT_FALSE(receive(device));
        device.tx_burst(0, {});
    }
};

TEST_F(HcaRecovery, AFailedReceive) {
    adapters.break_queue_pairs(right, IBV_WC_LOC_LEN_ERR);
    const auto number = b->datagram_end()->qpn;
    while (counter(*b, "rx_flushed") < 1023) poll(*b);
    EXPECT_EQ(counter(*b, "rx_errors"), 1u);
    poll(*b);
    EXPECT_EQ(counter(*b, "rx_flushed"), 1023u) << "nothing is posted to a queue pair in error";
    EXPECT_TRUE(b->link_up());
    EXPECT_EQ(b->datagram_end()->qpn, number);
    EXPECT_EQ(counter(*b, "queue_pair_resets"), 1u);
    EXPECT_TRUE(flows());
    EXPECT_TRUE(b->link_up());
    EXPECT_EQ(counter(*b, "queue_pair_resets"), 1u) << "once";
}

/// The next datagram would have failed as well, for want of anybody who looks at completions.
TEST_F(HcaRecovery, AQueuePairThatOnlyAnEventTellsOf) {
    adapters.break_queue_pairs(right);
    adapters.event(right, IBV_EVENT_QP_FATAL);
    EXPECT_TRUE(b->link_up());
    EXPECT_EQ(counter(*b, "queue_pair_events"), 1u);
    EXPECT_TRUE(flows());
}

TEST_F(HcaRecovery, FlushedSends) {
    left.holds_sends = true;
    for (unsigned i = 0; i < 5; ++i) ASSERT_TRUE(send(*a, *b, pattern(500, i)));
    adapters.break_queue_pairs(left);
    left.holds_sends = false;
    ASSERT_TRUE(send(*a, *b, pattern(500)));
    a->tx_burst(0, {});
    EXPECT_EQ(counter(*a, "tx_dropped_flushed"), 6u);
    EXPECT_TRUE(a->link_up());
    EXPECT_TRUE(flows());
}

TEST_F(HcaRecovery, ASendThatFailsTakesTheOthersWithIt) {
    left.holds_sends = true;
    for (unsigned i = 0; i < 3; ++i) ASSERT_TRUE(send(*a, *b, pattern(500)));
    left.send_status = IBV_WC_LOC_QP_OP_ERR;
    adapters.execute(left);
    a->tx_burst(0, {});
    EXPECT_EQ(counter(*a, "tx_errors"), 1u);
    EXPECT_EQ(counter(*a, "tx_dropped_flushed"), 2u);
    left.send_status = IBV_WC_SUCCESS;
    left.holds_sends = false;
    EXPECT_TRUE(a->link_up());
    EXPECT_EQ(counter(*a, "queue_pair_resets"), 1u);
    EXPECT_TRUE(flows());
}

TEST_F(HcaRecovery, RefusedSendsAreDroppedWithTheRestOfTheirChain) {
    const auto before = rte_mempool_in_use_count(test::packet_pool());
    left.post_error = EINVAL;
    left.post_error_at = 2;
    const auto end = *b->datagram_end();
    const auto address = to(end.gid);
    std::array<Datagram, 5> burst;
    for (auto& each : burst) each = {test::make_packet(pattern(500)).release(), &address, end.qpn, test::link_qkey};
    EXPECT_EQ(a->send(0, burst), 5u);
    EXPECT_EQ(counter(*a, "tx_dropped_refused"), 3u);
    EXPECT_EQ(counter(*a, "tx_good_packets"), 2u);
    left.post_error = 0;
    EXPECT_TRUE(a->link_up());
    EXPECT_EQ(counter(*a, "queue_pair_resets"), 1u);
    EXPECT_EQ(rte_mempool_in_use_count(test::packet_pool()), before) << "those that were posted are freed";
    EXPECT_TRUE(flows());
}

TEST_F(HcaRecovery, RefusedReceives) {
    right.receive_error = ENOMEM;
    for (unsigned i = 0; i < 32; ++i) ASSERT_TRUE(crosses(*a, *b));
    EXPECT_EQ(counter(*b, "rx_post_errors"), 1u);
    right.receive_error = 0;
    EXPECT_TRUE(b->link_up());
    EXPECT_EQ(adapters.posted(adapters.first_number(right)), 1024u);
    EXPECT_TRUE(flows());
}

TEST_F(HcaRecovery, AQueuePairThatCannotBeResetIsMadeAnew) {
    adapters.break_queue_pairs(right);
    poll(*b);
    right.modify_error = EIO;
    EXPECT_FALSE(b->link_up());
    EXPECT_EQ(counter(*b, "queue_pair_reset_errors"), 1u);
    EXPECT_EQ(counter(*b, "device_losses"), 1u);
    right.modify_error = 0;
    EXPECT_FALSE(b->link_up()) << "opened anew";
    EXPECT_TRUE(b->link_up());
    EXPECT_TRUE(flows());
}

TEST_F(HcaRecovery, APortThatGoesDownAndComesBack) {
    right.port.state = IBV_PORT_DOWN;
    adapters.event(right, IBV_EVENT_PORT_ERR);
    EXPECT_FALSE(b->link_up());
    right.port.state = IBV_PORT_ACTIVE;
    adapters.event(right, IBV_EVENT_PORT_ACTIVE);
    EXPECT_TRUE(b->link_up());
    EXPECT_EQ(counter(*b, "port_events"), 2u);
    EXPECT_EQ(counter(*b, "queue_pair_resets"), 0u) << "nothing has changed";
    EXPECT_TRUE(flows());
}

TEST_F(HcaRecovery, AnotherGidAndALargerMtu) {
    ASSERT_TRUE(flows());
    const auto before = adapters.handles_made;
    auto& gids = left.port.gids;
    gids.insert(gids.begin(), gids.front());  // the link-local one of v2 moves by one
    left.port.mtu = right.port.mtu = IBV_MTU_4096;
    EXPECT_TRUE(a->link_up());
    EXPECT_TRUE(b->link_up());
    EXPECT_EQ(counter(*a, "queue_pair_resets"), 1u);
    EXPECT_TRUE(crosses(*a, *b, pattern(4096)));
    EXPECT_EQ(adapters.sent.back().to.grh.sgid_index, 2);
    EXPECT_EQ(adapters.handles_made, before + 1) << "handles of the old index are not used";
}

TEST_F(HcaRecovery, ADeviceThatIsRemovedAndComesBack) {
    const MulticastAddress group{.mgid = test::group_gid(3)};
    EXPECT_FALSE(b->attach_multicast(group));
    ASSERT_TRUE(flows());
    right.there = false;
    adapters.event(right, IBV_EVENT_DEVICE_FATAL);
    EXPECT_FALSE(b->link_up());
    EXPECT_EQ(counter(*b, "device_losses"), 1u);
    EXPECT_TRUE(adapters.attached(right).empty());
    ASSERT_TRUE(send(*b, *a, pattern(10)));
    EXPECT_EQ(counter(*b, "tx_dropped_down"), 1u);
    EXPECT_EQ(b->rx_event(0), -1);
    EXPECT_FALSE(b->link_up());

    right.there = true;
    EXPECT_FALSE(b->link_up()) << "it is looked for now and then";
    now += tunables::hca_reopen_period;
    EXPECT_FALSE(b->link_up()) << "opened, and everybody learns that it is another";
    EXPECT_TRUE(b->link_up());
    EXPECT_EQ(counter(*b, "device_returns"), 1u);
    EXPECT_EQ(b->datagram_end()->qpn, wire::Qpn{adapters.first_number(right)});
    EXPECT_EQ(adapters.attached(right), std::set{group.mgid});
    EXPECT_TRUE(flows());
}

TEST_F(HcaRecovery, ADeviceThatVanishesWithoutAWord) {
    right.there = false;
    EXPECT_FALSE(b->link_up());
    EXPECT_EQ(counter(*b, "device_losses"), 1u);
    right.there = true;
    right.port.state = IBV_PORT_DOWN;
    now += tunables::hca_reopen_period;
    EXPECT_FALSE(b->link_up()) << "it waits for the port";
    EXPECT_EQ(counter(*b, "device_returns"), 0u);
    right.port.state = IBV_PORT_ACTIVE;
    now += tunables::hca_reopen_period;
    EXPECT_FALSE(b->link_up());
    EXPECT_TRUE(b->link_up());
    EXPECT_TRUE(flows());
}

TEST_F(HcaRecovery, ACompletionQueueInErrorTakesTheDevice) {
    adapters.event(right, IBV_EVENT_CQ_ERR);
    EXPECT_FALSE(b->link_up());
    now += tunables::hca_reopen_period;
    EXPECT_FALSE(b->link_up());
    EXPECT_TRUE(b->link_up());
    EXPECT_TRUE(flows());
}

}  // namespace
}  // namespace verbline::pmd
