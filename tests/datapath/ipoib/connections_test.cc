// SPDX-License-Identifier: BSD-3-Clause
// Two ends of a cable in connected mode; the test connects their queue pairs, and is both shards.
#include "datapath/ipoib/connections.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "datapath/link/envelope.h"
#include "tests/support/connected_end.h"

namespace verbline::ipoib {
namespace {

using test::bytes_of, test::ConnectedEnd, test::pattern;

class ConnectionsTest : public testing::Test {
protected:
    void SetUp() override {
        a.take_address(), b.take_address();
        sender = std::move(*a.connections->make_sender());
        receiver = std::move(*b.connections->make_receiver());
        join(*sender, *receiver, b), join(*receiver, *sender, a);
        ASSERT_TRUE(sender->ready_to_send({.first = wire::Psn(7), .timeout = 10, .retries = 2}));
        number = a.connections->open(*sender, connected_mtu).value();
    }
    void TearDown() override {
        b.arrived.clear();
        run();
        receiver.reset(), sender.reset();
    }
    /// To the queue pair `to`, of `other`.
    static void join(rdma::QueuePair& from, const rdma::QueuePair& to, const ConnectedEnd& other) {
        ASSERT_TRUE(from.init({}));
        ASSERT_TRUE(from.ready_to_receive({.remote = to.qpn(),
                                           .path = {.address = {.dlid = other.identity.port.lid}},
                                           .mtu = 2048,
                                           .first = wire::Psn(7)}));
    }
    void run(unsigned polls = 60) {
        for (unsigned i = 0; i < polls; ++i) {
            a.poll(now), b.poll(now);
            now += 10 * microsecond;
        }
    }
    void send(const test::ByteVector& packet, std::size_t piece = 2304) { a.send(packet, a.to(b, number), piece); }
    /// A packet of the router's, if not of its memory.
    void send_foreign(std::span<std::byte> memory) {
        auto* const packet = rte_pktmbuf_alloc(test::packet_pool());
        std::uint16_t size = static_cast<std::uint16_t>(memory.size());
        auto* const shared = rte_pktmbuf_ext_shinfo_init_helper(memory.data(), &size, [](void*, void*) {}, nullptr);
        rte_pktmbuf_attach_extbuf(packet, memory.data(), 0, size, shared);
        packet->data_off = 128;
        packet->data_len = 100, packet->pkt_len = 100;
        a.link->transmit(packet, a.to(b, number));
    }

    std::array<std::unique_ptr<pmd::NetDevice>, 2> cable = (static_cast<void>(test::packet_pool()), test::cable());
    ConnectedEnd a{test::connected_identity(3), std::move(cable[0])};
    ConnectedEnd b{test::connected_identity(4), std::move(cable[1])};
    std::unique_ptr<rdma::QueuePair> sender, receiver;
    ConnectionNumber number = 0;
    Time now = second;
};

TEST_F(ConnectionsTest, CarryTheLargestPacket) {
    send(pattern(connected_mtu));
    run();
    ASSERT_EQ(b.arrived.size(), 1U);
    EXPECT_EQ(bytes_of(b.arrived[0]), pattern(connected_mtu));
    EXPECT_LE(b.arrived[0]->nb_segs, LargeReceives::buffers_of_message);
    EXPECT_EQ(a.counter("tx_connected_packets"), 1U);
    EXPECT_EQ(a.counter("tx_connected_bytes"), connected_mtu + 4);
    EXPECT_EQ(b.counter("rx_connected_packets"), 1U);
    EXPECT_EQ(b.counter("rx_connected_bytes"), connected_mtu + 4);
    EXPECT_EQ(a.connections->sent(number), 1U);
}

TEST_F(ConnectionsTest, CarryPacketsOfAllSizesInOrder) {
    std::vector<std::size_t> sizes;
    for (std::size_t size = 20; size <= connected_mtu; size += size / 2 + 3) sizes.push_back(size);
    for (const auto size : sizes) send(pattern(size, static_cast<unsigned>(size))), run(3);
    run(100);
    ASSERT_EQ(b.arrived.size(), sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i)
        EXPECT_EQ(bytes_of(b.arrived[i]), pattern(sizes[i], static_cast<unsigned>(sizes[i])));
}

TEST_F(ConnectionsTest, TellTheFamiliesApart) {
    a.send(pattern(3000), a.to(b, number, wire::ether_type::ipv6));
    link::Reception received;
    for (unsigned i = 0; i < 20 && received.ipv6_count == 0; ++i) {
        a.poll(now), b.connections->poll(now);
        b.link->receive(received);
        now += 10 * microsecond;
    }
    ASSERT_EQ(received.ipv6_count, 1);
    EXPECT_EQ(bytes_of(test::Packet(received.ipv6[0])), pattern(3000));
}

TEST_F(ConnectionsTest, CopyWhatLiesInTooManyPieces) {
    send(pattern(60'000), 1000);
    run();
    ASSERT_EQ(b.arrived.size(), 1U);
    EXPECT_EQ(bytes_of(b.arrived[0]), pattern(60'000));
    EXPECT_EQ(a.counter("tx_connected_copied"), 1U);
}

TEST_F(ConnectionsTest, StandBesideDatagrams) {
    send(pattern(5000));
    a.send(pattern(60), a.to(b, 0));
    a.send(pattern(56), a.to(b, 0, wire::ether_type::arp));
    run();
    EXPECT_EQ(b.arrived.size(), 3U);
    EXPECT_EQ(a.connections->mtu_to(a.to(b, 0)), 2044U);
    EXPECT_EQ(a.connections->mtu_to(a.to(b, number)), connected_mtu);
}

TEST_F(ConnectionsTest, DropWhatTheNeighbourIsTooSlowFor) {
    for (unsigned i = 0; i < Connections::send_requests + 3; ++i) send(pattern(100, i));
    EXPECT_EQ(a.counter("tx_dropped_connection_full"), 3U);
    a.connections->poll(now);
    EXPECT_FALSE(a.connections->congested(now)) << "nothing was ever acknowledged";
    run();
    EXPECT_EQ(b.arrived.size(), Connections::send_requests);
}

TEST_F(ConnectionsTest, AreCongestedWhileAFullOneMakesProgress) {
    for (unsigned round = 0; round < 20; ++round) {
        for (unsigned i = 0; i < 16; ++i) send(pattern(60'000));
        a.poll(now), b.poll(now);
        b.arrived.clear();
        if (a.connections->congested(now)) break;
        now += 10 * microsecond;
    }
    EXPECT_TRUE(a.connections->congested(now));
    EXPECT_FALSE(a.connections->congested(now + 20 * millisecond)) << "a dead neighbour holds up nobody else";
    for (unsigned i = 0; i < 300; ++i) run(1), b.arrived.clear();
    EXPECT_FALSE(a.connections->congested(now));
}

TEST_F(ConnectionsTest, SendNoMemoryOfOthers) {
    std::vector<std::byte> memory(1024);
    send_foreign(memory);
    EXPECT_EQ(a.counter("tx_dropped_connected_memory"), 1U);
    run();
    EXPECT_TRUE(b.arrived.empty());
}

TEST_F(ConnectionsTest, DropWithoutLargeBuffersAndGoOnWithThem) {
    for (unsigned i = 0; i < LargeReceives::buffers + 10; ++i) send(pattern(40)), run(2);
    EXPECT_GT(b.counter("rx_dropped_connected_no_mbuf"), 0U);
    b.arrived.clear();
    send(pattern(50'000));
    run();
    ASSERT_EQ(b.arrived.size(), 1U);
    EXPECT_EQ(bytes_of(b.arrived[0]), pattern(50'000));
}

TEST_F(ConnectionsTest, DropFramesOfOtherQueuePairsBeyondABurst) {
    for (unsigned i = 0; i < 300; ++i) {
        auto frame = test::make_packet(pattern(100));
        b.connections->put(frame.release());
    }
    EXPECT_EQ(b.counter("rx_dropped_other_queue_pairs"), 300U - 256U);
}

TEST_F(ConnectionsTest, FailWhenTheNeighbourIsGone) {
    EXPECT_FALSE(a.connections->failed(number));
    receiver.reset();
    send(pattern(100));
    for (unsigned i = 0; i < 1000 && !a.connections->failed(number); ++i) run(1), now += 5 * millisecond;
    ASSERT_TRUE(a.connections->failed(number));
    send(pattern(100));
    EXPECT_EQ(a.counter("tx_dropped_connection_lost"), 1U);
    EXPECT_FALSE(a.connections->closed(number));
    a.connections->close(number);
    EXPECT_TRUE(a.connections->closed(number));
    EXPECT_FALSE(a.connections->closed(number)) << "once";
}

/// Packets that wait are freed, which the end of the test checks; its number is another's then.
TEST_F(ConnectionsTest, CloseWithPacketsUnderWay) {
    for (unsigned i = 0; i < 10; ++i) send(pattern(10'000));
    a.poll(now);
    send(pattern(100));  // staged
    sender->error();
    a.connections->close(number);
    a.poll(now);
    ASSERT_TRUE(a.connections->closed(number));
    EXPECT_EQ(a.connections->open(*sender, 4000), number);
    EXPECT_EQ(a.connections->sent(number), 0U);
    sender->error();
    a.connections->close(number);
    EXPECT_TRUE(a.connections->closed(number));
}

TEST_F(ConnectionsTest, AreLimitedInNumber) {
    for (std::size_t i = 1; i < Connections::max_connections; ++i) EXPECT_TRUE(a.connections->open(*sender, 4000));
    EXPECT_FALSE(a.connections->open(*sender, 4000));
}

/// Theirs are the numbers of interfaces of the port's other partitions.
TEST_F(ConnectionsTest, HaveNoQueuePairsOfInterfaces) {
    std::vector<std::unique_ptr<rdma::QueuePair>> pairs;
    for (unsigned i = 0; i < 3000; ++i) {
        auto pair = a.connections->make_receiver();
        ASSERT_TRUE(pair) << pair.error().what;
        EXPECT_GE(static_cast<std::uint32_t>((*pair)->qpn()), 0x100U);
        if (i % 100 == 0) pairs.push_back(std::move(*pair));
    }
}

/// The control thread makes and closes connections while the shard polls, and sends by whatever there is.
TEST_F(ConnectionsTest, ComeAndGoWhileTheShardPolls) {
    std::atomic<ConnectionNumber> current = 0, to_close = 0;
    std::atomic<bool> stop = false;
    std::atomic<std::size_t> arrived = 0;
    std::thread shard([&] {
        for (Time time = now; !stop; time += microsecond) {
            if (const auto to = current.load()) a.send(pattern(3000), a.to(b, to));
            if (const auto closing = to_close.exchange(0)) a.connections->close(closing);
            a.poll(time), b.poll(time);
            arrived += b.arrived.size();
            b.arrived.clear();
        }
    });
    for (unsigned i = 0; i < 20; ++i) {
        auto from = std::move(*a.connections->make_sender());
        auto to = std::move(*b.connections->make_receiver());
        join(*from, *to, b), join(*to, *from, a);
        ASSERT_TRUE(from->ready_to_send({.first = wire::Psn(7)}));
        const auto opened = a.connections->open(*from, 4000).value();
        const auto before = arrived.load();
        current = opened;
        while (arrived < before + 5) std::this_thread::yield();
        current = 0;
        from->error();
        // Behind what it may still send by the number that it has read.
        while (a.connections->sent(opened) == 0) std::this_thread::yield();
        to_close = opened;
        while (!a.connections->closed(opened)) std::this_thread::yield();
        to->error();
    }
    stop = true;
    shard.join();
}

/// What is for others of the fabric, and what is broken, is counted as on an interface without connections.
TEST_F(ConnectionsTest, LeaveTheRestToTheInterface) {
    auto stranger = a.to(b, 0);
    stranger = destination(a.identity, {.dlid = wire::Lid{9}}, wire::Qpn{0x200}, wire::ether_type::ipv4);
    a.send(pattern(100), stranger);
    run();
    EXPECT_EQ(test::counter(*b.link, "rx_dropped_address"), 1U);
    EXPECT_TRUE(b.arrived.empty());
}

}  // namespace
}  // namespace verbline::ipoib
