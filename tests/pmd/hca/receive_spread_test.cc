// SPDX-License-Identifier: BSD-3-Clause
// Several receive queues, where the adapter spreads datagrams over them: it does, it cannot, and it fails to.
#include "pmd/hca/receive_spread.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <netinet/in.h>
#include <poll.h>

#include "datapath/offload/toeplitz.h"
#include "pmd/base/tunables.h"
#include "tests/pmd/hca/devices.h"

namespace verbline::pmd {
namespace {

using test::ByteVector;
using test::counter;
using test::pattern;

constexpr std::size_t ipoib = 4, ipv4 = 20, ipv6 = 40;

struct HcaSpread : test::HcaDevices {
    HcaSpread() { right.spreads_for = IBV_QPT_UD; }

    void start(std::uint16_t queues) {
        a = started({.device = "left0"});
        b = started({.device = "right0", .queues = queues, .clock = [] { return now; }});
    }

    /// A packet of flow number `flow`.
    static ByteVector packet(unsigned flow, bool of_ipv6 = false, int protocol = IPPROTO_TCP) {
        auto bytes = pattern(100, flow);
        const auto addresses = ipoib + (of_ipv6 ? 8 : 12), protocol_at = ipoib + (of_ipv6 ? 6 : 9);
        bytes[ipoib] = std::byte{of_ipv6 ? std::uint8_t{0x60} : std::uint8_t{0x45}};
        bytes[protocol_at] = static_cast<std::byte>(protocol);
        bytes[addresses + 3] = static_cast<std::byte>(flow * 41);
        return bytes;
    }
    /// Where the device's own table says that it comes.
    std::uint16_t queue_of(const ByteVector& packet) const {
        const bool of_ipv6 = packet[ipoib] == std::byte{0x60};
        const auto table = b->rss().value();
        std::array<std::uint8_t, offload::Toeplitz::key_size> key;
        std::ranges::copy(table.key, key.begin());
        const offload::Toeplitz toeplitz(key);
        const auto bytes = std::span(packet).subspan(ipoib);
        const auto addresses = of_ipv6 ? bytes.subspan(8, 32) : bytes.subspan(12, 8);
        const auto ports = bytes.subspan(of_ipv6 ? ipv6 : ipv4, 4);
        ByteVector tuple(addresses.begin(), addresses.end());
        tuple.insert(tuple.end(), ports.begin(), ports.end());
        return table.queues[toeplitz(tuple) % table.queues.size()];
    }
    static test::Packet receive_of(Hca& device, std::uint16_t queue) {
        rte_mbuf* packet = nullptr;
        device.rx_burst(queue, {&packet, 1});
        return test::Packet(packet);
    }
    std::uint64_t received(std::uint16_t queue) const {
        std::uint64_t packets = 0;
        b->queue_counters(queue, [&](auto name, auto value, auto) {
            if (name == "rx_good_packets") packets = value;
        });
        return packets;
    }
    /// Of every queue that there is.
    bool all_receive(std::uint16_t queues) {
        std::vector<bool> reached(queues);
        for (unsigned flow = 0; flow < 64; ++flow) {
            const auto bytes = packet(flow);
            const auto queue = queue_of(bytes);
            reached[queue] = true;
            if (!send(*a, *b, bytes) || test::bytes_of(receive_of(*b, queue)) != bytes) return false;
        }
        return std::ranges::count(reached, true) == queues;
    }
};

TEST_F(HcaSpread, FlowsComeToTheQueuesThatItsTableSays) {
    start(4);
    EXPECT_EQ(b->capabilities().rx_queues, 4u);
    EXPECT_EQ(b->capabilities().tx_queues, 4u);
    ASSERT_TRUE(b->rss());
    EXPECT_EQ(b->rss()->queues.size(), 128u);
    EXPECT_TRUE(b->rss()->udp_ports);
    for (const bool of_ipv6 : {false, true}) {
        for (const int protocol : {IPPROTO_TCP, IPPROTO_UDP}) {
            for (unsigned flow = 0; flow < 40; ++flow) {
                const auto bytes = packet(flow, of_ipv6, protocol);
                ASSERT_TRUE(send(*a, *b, bytes));
                ASSERT_EQ(test::bytes_of(receive_of(*b, queue_of(bytes))), bytes);
            }
        }
    }
    for (std::uint16_t queue = 0; queue < 4; ++queue) EXPECT_GT(received(queue), 10u) << queue;
    EXPECT_EQ(counter(*b, "rx_good_packets"), 160u);
    EXPECT_EQ(counter(*b, "receive_spread_errors"), 0u);
}

TEST_F(HcaSpread, WhatIsOfNoFlowComesToTheFirstQueue) {
    start(4);
    for (unsigned i = 0; i < 8; ++i) {
        ASSERT_TRUE(send(*a, *b, pattern(60, i)));
        EXPECT_TRUE(receive_of(*b, 0));
    }
}

TEST_F(HcaSpread, ItSendsByOneQueuePairForEachThread) {
    start(3);
    const auto end = *a->datagram_end();
    for (std::uint16_t queue = 0; queue < 3; ++queue) {
        ASSERT_TRUE(send(*b, to(end.gid), end.qpn, test::make_packet(pattern(30, queue)), queue));
        EXPECT_EQ(test::bytes_of(receive(*a)), pattern(30, queue));
    }
    EXPECT_NE(wire::Qpn{adapters.sent.back().source}, b->datagram_end()->qpn) << "that one only receives";
}

TEST_F(HcaSpread, EachQueueHasAnEvent) {
    start(2);
    const auto readable = [&](std::uint16_t queue) {
        pollfd wait{.fd = b->rx_event(queue), .events = POLLIN, .revents = 0};
        return ::poll(&wait, 1, 0) == 1;
    };
    for (const std::uint16_t queue : {0, 1}) {
        ASSERT_GE(b->rx_event(queue), 0);
        b->want_rx_event(queue, true);
    }
    unsigned flow = 0;
    while (queue_of(packet(flow)) != 1) ++flow;
    ASSERT_TRUE(send(*a, *b, packet(flow)));
    EXPECT_FALSE(readable(0));
    EXPECT_TRUE(readable(1));
    b->want_rx_event(1, false);
    EXPECT_FALSE(readable(1));
    EXPECT_TRUE(receive_of(*b, 1));
}

TEST_F(HcaSpread, GroupsAreSpreadToo) {
    right.loops_back = true;
    start(2);
    const MulticastAddress group{.mgid = test::group_gid(7)};
    EXPECT_FALSE(b->attach_multicast(group));
    for (unsigned flow = 0; flow < 8; ++flow) {
        ASSERT_TRUE(send(*a, to(group.mgid), wire::multicast_qpn, test::make_packet(packet(flow))));
        EXPECT_TRUE(receive_of(*b, queue_of(packet(flow))));
        ASSERT_TRUE(send(*b, to(group.mgid), wire::multicast_qpn, test::make_packet(packet(flow))));
        EXPECT_FALSE(receive_of(*b, queue_of(packet(flow))));
    }
    EXPECT_EQ(counter(*b, "rx_dropped_own_multicast"), 8u) << "by the queue pairs that it sends by";
    EXPECT_FALSE(b->detach_multicast(group));
}

TEST_F(HcaSpread, ThereIsOneQueueWhereItCannotSpread) {
    const auto queues = [&] {
        start(4);
        EXPECT_TRUE(crosses(*a, *b, packet(1)));
        EXPECT_FALSE(b->rss());
        EXPECT_EQ(b->rx_event(1), -1);
        EXPECT_EQ(counter(*b, "receive_spread_errors"), 0u);
        const auto found = b->capabilities().rx_queues;
        a.reset();
        b.reset();
        return found;
    };
    const auto usual = right;
    const auto without = [&](auto change) {
        right = usual;
        change();
        return queues();
    };
    EXPECT_EQ(without([&] { right.spreads_for = IBV_QPT_RAW_PACKET; }), 1u) << "as every known adapter";
    EXPECT_EQ(without([&] { right.has_extended_calls = false; }), 1u);
    EXPECT_EQ(without([&] { right.has_work_queue_calls = false; }), 1u);
    EXPECT_EQ(without([&] { right.spread_entries = 1; }), 1u);
    EXPECT_EQ(without([&] { right.max_work_queues = 1; }), 1u);
    EXPECT_EQ(without([&] { right.hash_fields = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_SRC_IPV6; }), 1u);
}

TEST_F(HcaSpread, ThereAreAsManyQueuesAsItHas) {
    right.max_work_queues = 3;
    start(4);
    EXPECT_EQ(b->capabilities().rx_queues, 3u);
    EXPECT_EQ(b->capabilities().tx_queues, 4u);
    EXPECT_TRUE(all_receive(3));
    b.reset();
    right.max_work_queues = 64;
    right.spread_entries = 3;  // of which a table can use two
    start(4);
    EXPECT_EQ(b->capabilities().rx_queues, 2u);
    EXPECT_EQ(b->rss()->queues.size(), 2u);
    EXPECT_TRUE(all_receive(2));
}

TEST_F(HcaSpread, ThereIsOneQueueWhereNoMoreAreWanted) {
    a = started({.device = "left0"});
    b = started({.device = "right0", .queues = 4, .receive_queues = 1});
    EXPECT_EQ(b->capabilities().rx_queues, 1u);
    EXPECT_EQ(b->capabilities().tx_queues, 4u);
    EXPECT_TRUE(crosses(*a, *b, packet(3)));
}

TEST_F(HcaSpread, ThereIsOneQueueWhereItFailsTo) {
    for (auto* const error : {&right.work_queue_error, &right.table_error, &right.spread_error}) {
        *error = EOPNOTSUPP;
        start(4);
        EXPECT_EQ(b->capabilities().rx_queues, 1u);
        EXPECT_EQ(counter(*b, "receive_spread_errors"), 1u);
        EXPECT_TRUE(crosses(*a, *b, packet(1)));
        *error = 0;
        b.reset();
    }
}

/// As libibverbs documents of the fields: one address family and one transport for a queue pair.
TEST_F(HcaSpread, SomeHashOneKindOfFlowOnly) {
    right.hashes_one_family = true;
    start(2);
    EXPECT_EQ(b->capabilities().rx_queues, 2u);
    EXPECT_FALSE(b->rss()->udp_ports);
    EXPECT_TRUE(all_receive(2));
    ASSERT_TRUE(send(*a, *b, packet(1, true)));
    EXPECT_TRUE(receive_of(*b, 0));
}

TEST_F(HcaSpread, AWorkQueueInErrorIsSetUpAnew) {
    start(3);
    adapters.break_work_queue(right, 1, IBV_WC_LOC_LEN_ERR);
    while (counter(*b, "rx_flushed") < 1023) EXPECT_FALSE(receive_of(*b, 1));
    EXPECT_EQ(counter(*b, "rx_errors"), 1u);
    const auto number = b->datagram_end()->qpn;
    EXPECT_TRUE(b->link_up());
    EXPECT_EQ(counter(*b, "queue_pair_resets"), 1u);
    EXPECT_EQ(b->datagram_end()->qpn, number);
    EXPECT_EQ(adapters.posted_to_work_queues(right), (std::vector<std::size_t>{1024, 1024, 1024}));
    EXPECT_TRUE(all_receive(3));
}

TEST_F(HcaSpread, AWorkQueueThatOnlyAnEventTellsOf) {
    start(2);
    adapters.break_work_queue(right, 1, IBV_WC_WR_FLUSH_ERR);
    adapters.event(right, IBV_EVENT_WQ_FATAL);
    EXPECT_TRUE(b->link_up());
    EXPECT_EQ(counter(*b, "queue_pair_events"), 1u);
    EXPECT_TRUE(all_receive(2));
}

TEST_F(HcaSpread, AWorkQueueThatCannotBeSetUpTakesTheDevice) {
    start(2);
    adapters.break_work_queue(right, 0, IBV_WC_LOC_LEN_ERR);
    EXPECT_FALSE(receive_of(*b, 0));
    right.work_queue_modify_error = EIO;
    EXPECT_FALSE(b->link_up());
    EXPECT_EQ(counter(*b, "device_losses"), 1u);
    right.work_queue_modify_error = 0;
    EXPECT_FALSE(b->link_up()) << "opened anew";
    EXPECT_TRUE(b->link_up());
    EXPECT_TRUE(all_receive(2));
}

TEST_F(HcaSpread, ADeviceThatComesBackSpreadsAsBefore) {
    start(2);
    const auto before = b->rss()->key;
    right.there = false;
    EXPECT_FALSE(b->link_up());
    right.there = true;
    now += tunables::hca_reopen_period;
    EXPECT_FALSE(b->link_up());
    EXPECT_TRUE(b->link_up());
    EXPECT_EQ(b->rss()->key, before);
    EXPECT_GE(b->rx_event(1), 0);
    EXPECT_TRUE(all_receive(2));
}

/// Its other threads have nothing to receive then, and none of what comes is lost.
TEST_F(HcaSpread, ADeviceThatComesBackWithoutSpreadingHasOneQueueThatReceives) {
    start(2);
    right.there = false;
    EXPECT_FALSE(b->link_up());
    right.there = true;
    right.spread_error = ENOSPC;
    now += tunables::hca_reopen_period;
    EXPECT_FALSE(b->link_up());
    EXPECT_TRUE(b->link_up());
    EXPECT_EQ(counter(*b, "receive_spread_errors"), 1u);
    EXPECT_EQ(b->capabilities().rx_queues, 2u);
    EXPECT_FALSE(b->rss());
    EXPECT_EQ(b->rx_event(1), -1);
    EXPECT_FALSE(receive_of(*b, 1));
    for (unsigned flow = 0; flow < 8; ++flow) EXPECT_TRUE(crosses(*a, *b, packet(flow)));
}

}  // namespace
}  // namespace verbline::pmd
