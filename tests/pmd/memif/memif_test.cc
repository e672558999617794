// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/memif/memif.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "tests/pmd/memif/ends.h"

namespace verbline::pmd {
namespace {

using namespace test_ends;

TEST_F(MemifTest, BothWaysOnEveryQueue) {
    client.queues = server.queues = 3;
    const auto a = open(server), b = open(client);
    EXPECT_FALSE(a->link_up());
    ASSERT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
    for (std::uint16_t queue = 0; queue < 3; ++queue) {
        const auto there = test::pattern(60 + queue, queue), back = test::pattern(9000, queue);
        ASSERT_TRUE(send(*b, there, queue));
        EXPECT_EQ(test::bytes_of(receive(*a, queue)), there);
        ASSERT_TRUE(send(*a, back, queue));
        EXPECT_EQ(test::bytes_of(receive(*b, queue)), back);
    }
    EXPECT_EQ(counter(*a, "tx_good_packets"), 3u);
    EXPECT_EQ(counter(*a, "rx_good_bytes"), 60u + 61 + 62);
}

TEST_F(MemifTest, WithoutAPeerFramesAreDroppedByName) {
    const auto lonely = open(client);
    EXPECT_FALSE(lonely->link_up());
    EXPECT_TRUE(send(*lonely, test::pattern(60)));
    EXPECT_EQ(counter(*lonely, "tx_dropped_link_down"), 1u);
}

TEST_F(MemifTest, TheLinkComesBackWhicheverSideRestarts) {
    auto a = open(server), b = open(client);
    for (unsigned round = 0; round < 20; ++round) {
        ASSERT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; })) << round;
        ASSERT_TRUE(send(*b, test::pattern(100, round)));
        EXPECT_EQ(test::bytes_of(receive(*a)), test::pattern(100, round));
        if (round % 2 == 0) {
            a.reset();
            a = open(server);
        } else {
            b.reset();
            b = open(client);
        }
    }
}

TEST_F(MemifTest, AClientFollowsItsServerToAnotherPath) {
    auto a = open(server), b = open(client);
    ASSERT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
    a.reset();
    auto elsewhere = server;
    elsewhere.path += ".moved";
    a = open(elsewhere);
    b->move_to(elsewhere.path);
    ASSERT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
    ASSERT_TRUE(send(*b, test::pattern(100)));
    EXPECT_EQ(test::bytes_of(receive(*a)), test::pattern(100));
}

TEST_F(MemifTest, AClientWithoutAPathConnectsToNobody) {
    auto a = open(server);
    const auto b = open(client);
    ASSERT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
    b->move_to({});
    a.reset();
    a = open(server);
    ASSERT_TRUE(wait_for([&] { return !b->link_up(); }));
    for (int turn = 0; turn < 10; ++turn) EXPECT_FALSE(a->link_up() || b->link_up());
    b->move_to(client.path);
    EXPECT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
}

TEST_F(MemifTest, DownHangsUpAndUpConnectsAgain) {
    const auto a = open(server), b = open(client);
    ASSERT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
    a->down();
    EXPECT_FALSE(a->link_up());
    EXPECT_FALSE(b->link_up());
    ASSERT_TRUE(a->up());
    EXPECT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
}

TEST_F(MemifTest, FramesBeforeADisconnectAreReceived) {
    for (const bool server_leaves : {false, true}) {
        auto a = open(server), b = open(client);
        ASSERT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
        auto &leaves = server_leaves ? a : b, &stays = server_leaves ? b : a;
        for (unsigned i = 0; i < 3; ++i) ASSERT_TRUE(send(*leaves, test::pattern(100, i)));
        leaves.reset();
        EXPECT_FALSE(stays->link_up()) << "nobody is there";
        for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(test::bytes_of(receive(*stays)), test::pattern(100, i));
        EXPECT_EQ(counter(*stays, "link_losses"), 0u) << "as long as there was something to hear";
        EXPECT_FALSE(stays->link_up());
        EXPECT_EQ(counter(*stays, "link_losses"), 1u);
        leaves = open(server_leaves ? server : client);
        EXPECT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
    }
}

TEST_F(MemifTest, WhoDoesNotListenKeepsTheNextPeerWaitingForAMomentOnly) {
    const auto a = open(server);
    auto b = open(client);
    ASSERT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
    ASSERT_TRUE(send(*b, test::pattern(100)));
    b = open(client);
    EXPECT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
    EXPECT_EQ(counter(*a, "link_losses"), 1u);
}

TEST_F(MemifTest, ASocketFileLeftBehindDoesNotStopASecondStart) {
    {
        const FileDescriptor dead(socket(AF_UNIX, SOCK_SEQPACKET, 0));
        sockaddr_un address{.sun_family = AF_UNIX};
        client.path.copy(address.sun_path, client.path.size());
        ASSERT_EQ(bind(dead.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    }
    ASSERT_TRUE(std::filesystem::exists(client.path));
    const auto a = open(server), b = open(client);
    EXPECT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
}

TEST_F(MemifTest, OneServerAndOneClientPerSocket) {
    const auto a = open(server), b = open(client), c = open(client);
    EXPECT_EQ(Memif::create(server, packet_pool()).error().what,
              "memif socket " + server.path + " is served by another process; stop that first");
    ASSERT_TRUE(wait_for([&] { return int{a->link_up()} + int{b->link_up()} == 2; }));
    for (unsigned i = 0; i < 10; ++i) {
        EXPECT_FALSE(c->link_up());
        EXPECT_TRUE(a->link_up());
        EXPECT_TRUE(b->link_up());
    }
}

TEST_F(MemifTest, DifferentQueuesOrIdsDoNotConnect) {
    const auto a = open(server);
    auto two = client, other = client;
    two.queues = 2;
    other.id = 9;
    for (const auto& options : {two, other}) {
        const auto b = open(options);
        for (unsigned i = 0; i < 10; ++i) EXPECT_FALSE(a->link_up() || b->link_up());
    }
    const auto right = open(client);
    EXPECT_TRUE(wait_for([&] { return int{a->link_up()} + int{right->link_up()} == 2; })) << "and do no harm";
}

TEST_F(MemifTest, WrongOptionsAreOneLineEach) {
    server.path = directory / "missing" / "a.sock";
    EXPECT_EQ(
        Memif::create(server, packet_pool()).error().what,
        "memif socket " + server.path + ": cannot be created; does its directory exist?: No such file or directory");
    server.path.assign(200, 'x');
    EXPECT_EQ(Memif::create(server, packet_pool()).error().code, EINVAL);
    client.queues = 0;
    EXPECT_FALSE(Memif::create(client, packet_pool()));
}

}  // namespace
}  // namespace verbline::pmd
