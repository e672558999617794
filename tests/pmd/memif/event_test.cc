// SPDX-License-Identifier: BSD-3-Clause
// Receivers that sleep until the peer's signal. What must not happen is that a frame lies there and its receiver
// sleeps: every wait here has a limit that is never reached, and a test fails by reaching it.
#include <chrono>
#include <filesystem>
#include <random>
#include <string>
#include <thread>

#include <poll.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "pmd/memif/memif.h"
#include "tests/support/packet.h"

namespace verbline::pmd {
namespace {

using namespace std::chrono_literals;
using test::Packet;
using test::packet_pool;

constexpr int limit = 20'000;  ///< milliseconds that no wait takes

bool readable(int fd, int milliseconds) {
    pollfd wait{.fd = fd, .events = POLLIN};
    return poll(&wait, 1, milliseconds) == 1;
}

struct MemifEvents : ::testing::Test {
    MemifEvents() : directory(std::filesystem::temp_directory_path() / ("verbline-event-" + std::to_string(getpid()))) {
        std::filesystem::create_directory(directory);
        server = open(true);
        client = open(false);
        connect();
    }
    ~MemifEvents() override { std::filesystem::remove_all(directory); }

    std::unique_ptr<Memif> open(bool as_server) const {
        auto device = Memif::create({.path = directory / "a.sock", .server = as_server}, packet_pool());
        if (!device) throw std::runtime_error(device.error().what);
        EXPECT_TRUE((*device)->up());
        return std::move(*device);
    }
    void connect() const {
        const auto end = std::chrono::steady_clock::now() + 20s;
        while (int{server->link_up()} + int{client->link_up()} != 2) {
            ASSERT_LT(std::chrono::steady_clock::now(), end);
        }
    }

    std::filesystem::path directory;
    std::unique_ptr<Memif> server, client;
};

rte_mbuf* take(Memif& device) {
    rte_mbuf* packet = nullptr;
    return device.rx_burst(0, std::span(&packet, 1)) == 1 ? packet : nullptr;
}

bool send_one(Memif& device, std::size_t size = 60) {
    auto packet = test::make_packet(test::pattern(size));
    auto* raw = packet.get();
    if (device.tx_burst(0, std::span(&raw, 1)) != 1) return false;
    (void)packet.release();
    return true;
}

/// As a shard that sleeps: looks for a while, asks for signals, looks once more, sleeps. Null: slept for `limit`.
rte_mbuf* await(Memif& device, unsigned looks) {
    for (unsigned i = 0; i < looks; ++i) {
        if (auto* packet = take(device)) return packet;
    }
    rte_mbuf* packet = nullptr;
    for (;;) {
        device.want_rx_event(0, true);
        if ((packet = take(device)) != nullptr || !readable(device.rx_event(0), limit)) break;
    }
    device.want_rx_event(0, false);
    return packet;
}

TEST_F(MemifEvents, SignalsOnlyWhileArmed) {
    for (auto* const way : {&server, &client}) {
        auto& receiver = **way;
        auto& sender = way == &server ? *client : *server;
        receiver.want_rx_event(0, true);  // takes back that the connection came up
        receiver.want_rx_event(0, true);
        receiver.want_rx_event(0, false);
        const auto event = receiver.rx_event(0);
        ASSERT_GE(event, 0);
        ASSERT_TRUE(send_one(sender));
        EXPECT_FALSE(readable(event, 0)) << "nobody waits";
        receiver.want_rx_event(0, true);
        EXPECT_FALSE(readable(event, 0)) << "what was there before shows by looking";
        ASSERT_TRUE(send_one(sender));
        EXPECT_TRUE(readable(event, limit));
        Packet(take(receiver)), Packet(take(receiver));
        EXPECT_TRUE(readable(event, 0));
        receiver.want_rx_event(0, true);
        EXPECT_FALSE(readable(event, 0)) << "taken back";
        ASSERT_TRUE(send_one(sender));
        receiver.want_rx_event(0, false);
        EXPECT_FALSE(readable(event, 0)) << "taken back";
        Packet{take(receiver)};
    }
}

TEST_F(MemifEvents, NoLostWakeups) {
    constexpr unsigned rounds = 300'000;
    std::jthread echo([&] {
        std::minstd_rand random(1);
        for (unsigned round = 0; round < rounds; ++round) {
            auto* packet = await(*server, static_cast<unsigned>(random() % 4));
            if (packet == nullptr || server->tx_burst(0, std::span(&packet, 1)) != 1) {
                ADD_FAILURE() << "the server hangs in round " << round;
                return;
            }
        }
    });
    std::minstd_rand random(2);
    for (unsigned round = 0; round < rounds; ++round) {
        ASSERT_TRUE(send_one(*client));
        // Some looks more or fewer, so that each order of the two sides' steps comes up.
        const Packet packet(await(*client, static_cast<unsigned>(random() % 64)));
        ASSERT_TRUE(packet) << "the client hangs in round " << round;
    }
}

TEST_F(MemifEvents, AStreamIsReadByOneWhoSleepsBetweenBursts) {
    constexpr unsigned frames = 500'000;
    std::jthread sender([&] {
        for (unsigned sent = 0; sent < frames;) {
            if (send_one(*client)) ++sent;
        }
    });
    for (unsigned received = 0; received < frames; ++received) {
        const Packet packet(await(*server, received % 3));
        ASSERT_TRUE(packet) << received;
    }
}

TEST_F(MemifEvents, TheEndOfAConnectionWakesItsReceiver) {
    server->want_rx_event(0, true);
    server->want_rx_event(0, true);
    const auto event = server->rx_event(0);
    ASSERT_FALSE(readable(event, 0));
    std::jthread sleeper([&] { EXPECT_TRUE(readable(event, limit)); });
    client.reset();
    while (server->link_up()) {}
    sleeper.join();
    EXPECT_EQ(server->rx_event(0), -1);
    server->want_rx_event(0, true);  // of nobody

    client = open(false);
    connect();
    EXPECT_TRUE(readable(server->rx_event(0), 0)) << "a new connection is to be looked at";
    EXPECT_TRUE(readable(client->rx_event(0), 0));
    server->want_rx_event(0, true);
    ASSERT_TRUE(send_one(*client));
    const Packet packet(await(*server, 0));
    EXPECT_TRUE(packet);
}

}  // namespace
}  // namespace verbline::pmd
