// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/hca.h"

#include <poll.h>
#include <rte_ethdev.h>

#include "datapath/wire/grh.h"
#include "pmd/datagram_source.h"
#include "tests/pmd/hca/devices.h"

namespace verbline::pmd {
namespace {

using test::counter;
using test::pattern;
using HcaTest = test::HcaDevices;

bool readable(const Hca& device) {
    pollfd wait{.fd = device.rx_event(0), .events = POLLIN, .revents = 0};
    return ::poll(&wait, 1, 0) == 1;
}

TEST_F(HcaTest, SaysWhatItIs) {
    a = *open({.device = "left0", .queues = 3});
    EXPECT_EQ(a->name(), "hca:left0/1");
    const auto& can = a->capabilities();
    EXPECT_EQ(can.carries, Carries::datagram);
    EXPECT_EQ(can.rx_queues, 1u);
    EXPECT_EQ(can.tx_queues, 3u);
    EXPECT_EQ(can.max_packet, 2048u);
    EXPECT_EQ(can.max_tso, 0u) << "no plain UD queue pair segments";
    EXPECT_EQ(can.tx_offloads, RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
    EXPECT_EQ(a->datagram_end(), (DatagramEnd{wire::Qpn{0x100}, test::FakeAdapters::gid(1)}));
}

TEST_F(HcaTest, DatagramsOfAnySizeCrossWhole) {
    start_both();
    EXPECT_TRUE(a->link_up());
    for (const std::size_t size : {1u, 4u, 60u, 128u, 129u, 1024u, 2044u, 2048u}) {
        for (const std::size_t segment : {2304u, 700u}) {
            ASSERT_TRUE(send(*a, *b, pattern(size), segment));
            const auto packet = receive(*b);
            ASSERT_TRUE(packet) << size;
            EXPECT_EQ(test::bytes_of(packet), pattern(size));
            EXPECT_EQ(packet->nb_segs, 1);
        }
    }
    EXPECT_EQ(counter(*a, "tx_good_packets"), 16u);
    EXPECT_EQ(counter(*b, "rx_good_packets"), 16u);
    EXPECT_EQ(counter(*b, "rx_good_bytes"), 2u * (1 + 4 + 60 + 128 + 129 + 1024 + 2044 + 2048));
    EXPECT_EQ(counter(*a, "tx_copied_packets"), 0u);
}

TEST_F(HcaTest, TellsWhoSentADatagram) {
    start_both();
    ASSERT_TRUE(send(*a, *b, pattern(100)));
    const auto packet = receive(*b);
    ASSERT_TRUE(packet);
    EXPECT_EQ(datagram_source(*packet), (DatagramSource{.qpn = a->datagram_end()->qpn, .global = true}));
    const auto header = wire::Grh::parse(datagram_header(*packet));
    ASSERT_TRUE(header);
    EXPECT_EQ(header->source, a->datagram_end()->gid);
    EXPECT_EQ(header->destination, b->datagram_end()->gid);
}

TEST_F(HcaTest, OnALinkOfMtu4096ADatagramTakesTwoBuffers) {
    left.port.mtu = right.port.mtu = IBV_MTU_4096;
    start_both();
    EXPECT_EQ(b->capabilities().max_packet, 4096u);
    for (const std::size_t size : {2303u, 2304u, 2305u, 4096u}) {
        ASSERT_TRUE(send(*a, *b, pattern(size)));
        const auto packet = receive(*b);
        ASSERT_TRUE(packet);
        EXPECT_EQ(test::bytes_of(packet), pattern(size));
        EXPECT_EQ(packet->nb_segs, size > 2304 ? 2 : 1);
    }
}

TEST_F(HcaTest, BurstsKeepTheirOrderAndAreSignalledOnce) {
    start_both();
    unsigned sent = 0, received = 0;
    const auto end = *b->datagram_end();
    const auto address = to(end.gid);
    for (unsigned round = 0; round < 200; ++round) {
        std::array<Datagram, 32> burst;
        for (auto& each : burst) {
            each = {test::make_packet(pattern(200 + sent % 50, sent)).release(), &address, end.qpn, test::link_qkey};
            ++sent;
        }
        ASSERT_EQ(a->send(0, burst), burst.size());
        std::array<rte_mbuf*, 64> packets;
        const auto count = b->rx_burst(0, packets);
        ASSERT_EQ(count, burst.size());
        for (auto* each : std::span(packets).first(count)) {
            const test::Packet packet(each);
            ASSERT_EQ(test::bytes_of(packet), pattern(200 + received % 50, received));
            ++received;
        }
    }
    EXPECT_EQ(adapters.signalled, 200u);
    EXPECT_EQ(adapters.handles_made, 1u);
}

TEST_F(HcaTest, SmallDatagramsAreSentInline) {
    start_both();
    const auto before = rte_mempool_in_use_count(test::packet_pool());
    left.holds_sends = true;
    ASSERT_TRUE(send(*a, *b, pattern(128)));
    EXPECT_EQ(rte_mempool_in_use_count(test::packet_pool()), before) << "its buffer is free at once";
    ASSERT_TRUE(send(*a, *b, pattern(129)));
    EXPECT_EQ(rte_mempool_in_use_count(test::packet_pool()), before + 1);
    adapters.execute(left);
    a->tx_burst(0, {});
    EXPECT_EQ(rte_mempool_in_use_count(test::packet_pool()), before) << "an empty burst frees what is sent";
    EXPECT_NE(adapters.sent[0].flags & IBV_SEND_INLINE, 0u);
    EXPECT_EQ(adapters.sent[1].flags & IBV_SEND_INLINE, 0u);
    EXPECT_EQ(test::bytes_of(receive(*b)), pattern(128));
    EXPECT_EQ(test::bytes_of(receive(*b)), pattern(129));
}

TEST_F(HcaTest, ADeviceWithoutSoMuchInlineSendsWithout) {
    left.refuses_inline = true;
    left.max_inline = 0;
    start_both();
    EXPECT_TRUE(crosses(*a, *b));
    EXPECT_EQ(adapters.sent[0].flags & IBV_SEND_INLINE, 0u);
}

TEST_F(HcaTest, AFullQueueIsBackpressure) {
    left.max_requests = 8;
    start_both();
    left.holds_sends = true;
    unsigned taken = 0;
    while (send(*a, *b, pattern(500))) ++taken;
    EXPECT_EQ(taken, 8u);
    adapters.execute(left);
    EXPECT_TRUE(send(*a, *b, pattern(500)));
}

TEST_F(HcaTest, WhatTheDeviceCannotReadIsCopied) {
    start_both();
    const auto payload = pattern(900);
    auto packet = test::make_packet(pattern(1));
    rte_mbuf_ext_shared_info shared{.free_cb = [](void*, void*) {}, .fcb_opaque = nullptr, .refcnt = 1};
    rte_pktmbuf_attach_extbuf(packet.get(), const_cast<std::byte*>(payload.data()), 0, 900, &shared);
    packet->data_len = 900;
    packet->pkt_len = 900;
    const auto end = *b->datagram_end();
    ASSERT_TRUE(send(*a, to(end.gid), end.qpn, std::move(packet)));
    EXPECT_EQ(test::bytes_of(receive(*b)), payload);
    EXPECT_EQ(counter(*a, "tx_copied_packets"), 1u);
}

TEST_F(HcaTest, DatagramsThatCannotBeSentAreDroppedByName) {
    left.max_sge = 2;
    start_both();
    ASSERT_TRUE(send(*a, *b, pattern(2049)));
    EXPECT_EQ(counter(*a, "tx_dropped_oversize"), 1u);
    ASSERT_TRUE(send(*a, *b, pattern(1000), 400));
    EXPECT_EQ(counter(*a, "tx_dropped_segments"), 1u) << "a link linearizes it before";
    left.makes_handles = false;
    ASSERT_TRUE(send(*a, *b, pattern(100)));
    EXPECT_EQ(counter(*a, "tx_dropped_no_address_handle"), 1u);
    EXPECT_TRUE(adapters.sent.empty());
    left.makes_handles = true;
    EXPECT_TRUE(crosses(*a, *b)) << "nothing else has come to harm";
}

TEST_F(HcaTest, TheQueueKeyOfTheIdentityGuards) {
    start_both();
    EXPECT_EQ(adapters.qkey_of(0x100), 0x0b1bu);
    const auto end = *b->datagram_end();
    ASSERT_TRUE(send(*a, to(end.gid), end.qpn, test::make_packet(pattern(10)), 0, wire::QKey{1}));
    EXPECT_FALSE(receive(*b));
    EXPECT_EQ(adapters.undelivered, 1u);
}

TEST_F(HcaTest, ThePartitionIsOneOfThePortsTable) {
    left.port.pkeys = {0xffff, 0x8001};
    start_both();
    EXPECT_EQ(adapters.pkey_index_of(0x100), 0);
    EXPECT_FALSE(a->set_identity({.pkey = wire::PKey{0x8001}, .qkey = test::link_qkey}));
    EXPECT_EQ(adapters.pkey_index_of(0x100), 1);
    EXPECT_EQ(a->set_identity({.pkey = wire::PKey{0x8002}, .qkey = test::link_qkey}).value(), ENOENT);
    ASSERT_TRUE(send(*a, *b, pattern(10)));
    EXPECT_EQ(counter(*a, "tx_dropped_down"), 1u) << "it has no identity";
    left.port.pkeys.push_back(0x8002);  // the subnet manager adds it
    EXPECT_TRUE(a->link_up());
    EXPECT_EQ(adapters.pkey_index_of(0x100), 2);
}

TEST_F(HcaTest, GroupsAreReceivedWhileAttached) {
    start_both();
    const MulticastAddress group{.mgid = test::group_gid(7)};
    const auto shout = [&] { return send(*a, to(group.mgid), wire::multicast_qpn, test::make_packet(pattern(50))); };
    ASSERT_TRUE(shout());
    EXPECT_FALSE(receive(*b));
    EXPECT_FALSE(b->attach_multicast(group));
    EXPECT_FALSE(a->attach_multicast(group));
    ASSERT_TRUE(shout());
    EXPECT_EQ(test::bytes_of(receive(*b)), pattern(50));
    EXPECT_FALSE(receive(*a));
    EXPECT_FALSE(b->detach_multicast(group));
    ASSERT_TRUE(shout());
    EXPECT_FALSE(receive(*b));
    right.attach_error = ENOSPC;
    EXPECT_EQ(b->attach_multicast(group).value(), ENOSPC);
    EXPECT_EQ(counter(*b, "multicast_errors"), 1u);
}

/// As every adapter on InfiniBand does; another queue pair's of the same port are no less welcome than a host's.
TEST_F(HcaTest, OwnMulticastThatComesBackIsDropped) {
    left.loops_back = true;
    start_both();
    const auto neighbour = started({.device = "left0"});  // as the kernel's ib0 beside us
    const MulticastAddress group{.mgid = test::group_gid(7)};
    EXPECT_FALSE(a->attach_multicast(group));
    ASSERT_TRUE(send(*a, to(group.mgid), wire::multicast_qpn, test::make_packet(pattern(50))));
    EXPECT_FALSE(receive(*a));
    EXPECT_EQ(counter(*a, "rx_dropped_own_multicast"), 1u);
    ASSERT_TRUE(send(*neighbour, to(group.mgid), wire::multicast_qpn, test::make_packet(pattern(51))));
    EXPECT_EQ(test::bytes_of(receive(*a)), pattern(51));
}

TEST_F(HcaTest, EachTransmitQueueIsAQueuePair) {
    a = started({.device = "left0", .queues = 3});
    b = started({.device = "right0"});
    const auto end = *b->datagram_end();
    for (std::uint16_t queue = 0; queue < 3; ++queue) {
        ASSERT_TRUE(send(*a, to(end.gid), end.qpn, test::make_packet(pattern(30, queue)), queue));
        EXPECT_EQ(test::bytes_of(receive(*b)), pattern(30, queue));
        std::uint64_t sent = 0;
        a->queue_counters(queue, [&](auto name, auto value, auto) {
            if (name == "tx_good_packets") sent = value;
        });
        EXPECT_EQ(sent, 1u);
    }
    EXPECT_EQ(adapters.sent[0].source, 0x100u);
    EXPECT_EQ(adapters.sent[2].source, 0x102u);
    EXPECT_EQ(a->rx_event(1), -1);
    rte_mbuf* packet = nullptr;
    EXPECT_EQ(a->rx_burst(2, {&packet, 1}), 0);
}

TEST_F(HcaTest, AnEventTellsOfArrivalsWhileItIsWanted) {
    start_both();
    ASSERT_GE(b->rx_event(0), 0);
    ASSERT_TRUE(send(*a, *b, pattern(9)));
    EXPECT_FALSE(readable(*b)) << "nobody asked";
    EXPECT_TRUE(receive(*b));
    b->want_rx_event(0, true);
    EXPECT_FALSE(readable(*b));
    ASSERT_TRUE(send(*a, *b, pattern(9)));
    EXPECT_TRUE(readable(*b));
    b->want_rx_event(0, false);
    EXPECT_FALSE(readable(*b)) << "and it is cleared";
    EXPECT_TRUE(receive(*b));
}

TEST_F(HcaTest, DownItNeitherSendsNorReceives) {
    start_both();
    EXPECT_TRUE(crosses(*a, *b));
    b->down();
    EXPECT_FALSE(b->link_up());
    EXPECT_EQ(b->rx_event(0), -1);
    ASSERT_TRUE(send(*a, *b, pattern(10)));
    EXPECT_EQ(adapters.undelivered, 1u);
    ASSERT_TRUE(send(*b, *a, pattern(10)));
    EXPECT_EQ(counter(*b, "tx_dropped_down"), 1u);
    EXPECT_TRUE(b->up());
    EXPECT_TRUE(b->link_up());
    EXPECT_TRUE(crosses(*a, *b));
    EXPECT_TRUE(crosses(*b, *a));
}

TEST_F(HcaTest, APoolThatRunsLowLeavesReceivesUnposted) {
    start_both();
    const auto number = adapters.first_number(right);
    const auto full = adapters.posted(number);
    std::vector<rte_mbuf*> taken;
    while (auto* const packet = rte_pktmbuf_alloc(test::packet_pool())) taken.push_back(packet);
    for (unsigned i = 0; i < 40; ++i) {
        adapters.arrive(number, pattern(60));
        EXPECT_TRUE(receive(*b));
        // The packet that the test has freed is the only one in the pool.
        taken.push_back(rte_pktmbuf_alloc(test::packet_pool()));
    }
    EXPECT_GT(counter(*b, "rx_mbuf_allocation_errors"), 0u);
    EXPECT_LT(adapters.posted(number), full);
    for (auto* packet : taken) rte_pktmbuf_free(packet);
    adapters.arrive(number, pattern(60));
    EXPECT_TRUE(receive(*b));
    EXPECT_GT(adapters.posted(number), full - 32) << "posted again once there are buffers";
}

TEST_F(HcaTest, ACompletionShorterThanAGrhIsNoPacket) {
    start_both();
    const auto number = adapters.first_number(right);
    adapters.arrive(number, pattern(60), 39);
    EXPECT_FALSE(receive(*b));
    EXPECT_EQ(counter(*b, "rx_dropped_short"), 1u);
    adapters.arrive(number, {});
    EXPECT_TRUE(receive(*b)) << "an empty datagram is one";
    EXPECT_TRUE(crosses(*a, *b));
}

}  // namespace
}  // namespace verbline::pmd
