// SPDX-License-Identifier: BSD-3-Clause
// A pair over a socket that somebody else has connected: one connection, and none after it.
#include <array>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/pmd/memif/ends.h"
#include "tests/support/unix_socket.h"

namespace verbline::pmd {
namespace {

using namespace test_ends;

struct ConnectedMemif : ::testing::Test {
    ConnectedMemif() {
        auto [one, other] = test::socket_pair();
        server = open(true, std::move(one));
        client = open(false, std::move(other));
    }
    static std::unique_ptr<Memif> open(bool as_server, FileDescriptor socket) {
        auto device = Memif::create({.path = "pair", .server = as_server}, packet_pool(), std::move(socket));
        if (!device) throw std::runtime_error(device.error().what);
        EXPECT_TRUE((*device)->up());
        return std::move(*device);
    }
    bool connect() const {
        return wait_for([&] { return int{server->link_up()} + int{client->link_up()} == 2; });
    }

    std::unique_ptr<Memif> server, client;
};

TEST_F(ConnectedMemif, CarriesFramesBothWays) {
    ASSERT_TRUE(connect());
    ASSERT_TRUE(send(*client, test::pattern(60)));
    EXPECT_EQ(test::bytes_of(receive(*server)), test::pattern(60));
    ASSERT_TRUE(send(*server, test::pattern(9000)));
    EXPECT_EQ(test::bytes_of(receive(*client)), test::pattern(9000));
}

TEST_F(ConnectedMemif, WakesReceiversThatSleep) {
    ASSERT_TRUE(connect());
    for (auto [receiver, sender] : {std::pair(&*server, &*client), std::pair(&*client, &*server)}) {
        receiver->want_rx_event(0, true);
        receiver->want_rx_event(0, true);  // takes back that the connection came up
        pollfd event{.fd = receiver->rx_event(0), .events = POLLIN, .revents = 0};
        ASSERT_EQ(poll(&event, 1, 0), 0);
        ASSERT_TRUE(send(*sender, test::pattern(60)));
        EXPECT_EQ(poll(&event, 1, 20'000), 1);
        std::ignore = receive(*receiver);
    }
}

TEST_F(ConnectedMemif, OnceOverItStaysOver) {
    ASSERT_TRUE(connect());
    client.reset();
    EXPECT_TRUE(wait_for([&] { return !server->link_up(); }));
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(server->link_up());
    EXPECT_EQ(counter(*server, "link_connects"), 1u);
    EXPECT_EQ(counter(*server, "link_losses"), 1u);
    EXPECT_EQ(counter(*server, "link_untrusted_servers"), 0u);
}

TEST_F(ConnectedMemif, AnEndThatIsNeverUsedFails) {
    server.reset();
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(client->link_up());
    EXPECT_EQ(counter(*client, "link_connects"), 0u);
}

TEST_F(ConnectedMemif, AMalformedMessageDisconnects) {
    auto [one, other] = test::socket_pair();
    const auto listening = open(true, std::move(one));
    EXPECT_FALSE(listening->link_up());
    ASSERT_TRUE(test::send_packet(other, test::pattern(7)));
    for (int i = 0; i < 2; ++i) EXPECT_FALSE(listening->link_up());
    EXPECT_EQ(counter(*listening, "link_refusals"), 1u);
    std::array<std::byte, 256> said;
    ssize_t last = 1;
    while (last > 0) last = recv(other.get(), said.data(), said.size(), MSG_DONTWAIT);
    EXPECT_EQ(last, 0) << "hung up";
}

TEST_F(ConnectedMemif, AbandoningACopySendsNothing) {
    ASSERT_TRUE(connect());
    const auto pid = fork();
    if (pid == 0) {
        client->abandon();
        _exit(0);
    }
    int status = 1;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(client->link_up());
    EXPECT_TRUE(server->link_up()) << "the parent is there still";
}

}  // namespace
}  // namespace verbline::pmd
