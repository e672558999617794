// SPDX-License-Identifier: BSD-3-Clause
#include "apps/rdma_ping/exchange.h"

#include <array>
#include <future>

#include <sys/socket.h>

#include <gtest/gtest.h>

namespace verbline::rdma_ping {
namespace {

struct RdmaPingExchange : testing::Test {
    RdmaPingExchange() {
        std::array<int, 2> pair{};
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) std::abort();
        a.emplace(FileDescriptor(pair[0]));
        raw = pair[1];
        b.emplace(FileDescriptor(raw));
    }
    std::optional<Exchange> a, b;
    int raw = -1;  ///< b's socket
};

TEST_F(RdmaPingExchange, EachReceivesTheOthersParameters) {
    const Introduction told{
        .qpn = wire::Qpn{0xabcdef},
        .psn = wire::Psn(0x123456),
        .mtu = 2048,
        .mac = {{std::byte{2}, std::byte{1}, std::byte{3}, std::byte{4}, std::byte{5}, std::byte{6}}},
        .lid = wire::Lid{0xbeef},
        .gid = wire::Gid::of(0xfd00'1122'3344'5566, wire::Guid{0x7788'99aa'bbcc'ddee}),
        .rkey = wire::RKey{0x89ab'cdef},
        .address = 0x7fff'0123'4567'89ab,
        .selective_ack = true,
        .flow_label = 0xfedcb};
    auto other = std::async(std::launch::async, [&] { return b->swap({.mtu = 256}); });
    const auto at_a = a->swap(told);
    const auto at_b = other.get();
    ASSERT_TRUE(at_a && at_b);
    EXPECT_EQ(at_a->mtu, 256u);
    EXPECT_FALSE(at_a->selective_ack);
    EXPECT_EQ(at_b->qpn, told.qpn);
    EXPECT_EQ(at_b->psn, told.psn);
    EXPECT_EQ(at_b->mtu, told.mtu);
    EXPECT_EQ(at_b->mac, told.mac);
    EXPECT_EQ(at_b->lid, told.lid);
    EXPECT_EQ(at_b->gid, told.gid);
    EXPECT_EQ(at_b->rkey, told.rkey);
    EXPECT_EQ(at_b->address, told.address);
    EXPECT_TRUE(at_b->selective_ack);
    EXPECT_EQ(at_b->flow_label, told.flow_label);
}

TEST_F(RdmaPingExchange, AnotherProtocolIsRefused) {
    const std::array<char, 64> http{"GET / HTTP/1.1\r\n"};
    ASSERT_EQ(send(raw, http.data(), http.size(), 0), 64);
    const auto at_a = a->swap({});
    ASSERT_FALSE(at_a);
    EXPECT_EQ(at_a.error().code, EPROTO);
}

TEST_F(RdmaPingExchange, APeerThatEndsIsAnError) {
    b.reset();
    EXPECT_FALSE(a->swap({}));
    EXPECT_FALSE(a->meet());
}

TEST_F(RdmaPingExchange, DoneIsSeenAndNotWaitedFor) {
    EXPECT_FALSE(a->peer_is_done());
    b->say_done();
    EXPECT_TRUE(a->peer_is_done());
    EXPECT_FALSE(b->peer_is_done());
    a.reset();
    EXPECT_TRUE(b->peer_is_done());
}

}  // namespace
}  // namespace verbline::rdma_ping
