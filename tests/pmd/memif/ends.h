// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the tests of memif devices share: ends of a socket of their own, and ways to use them.

#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>

#include <rte_mbuf.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "pmd/memif/memif.h"
#include "tests/support/counter.h"
#include "tests/support/packet.h"

namespace verbline::pmd::test_ends {

using test::make_packet;
using test::Packet;
using test::packet_pool;
using namespace std::chrono_literals;

using test::counter;

inline std::unique_ptr<Memif> open(MemifOptions options) {
    auto device = Memif::create(options, packet_pool());
    if (!device) throw std::runtime_error(device.error().what);
    EXPECT_TRUE((*device)->up());
    return std::move(*device);
}

/// Calls `done` until it holds; false after half a minute.
template <class Done>
bool wait_for(Done done) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (!done()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::yield();
    }
    return true;
}

inline Packet receive(NetDevice& device, std::uint16_t queue = 0) {
    rte_mbuf* packet = nullptr;
    wait_for([&] { return device.rx_burst(queue, std::span(&packet, 1)) == 1; });
    return Packet(packet);
}

inline bool send(NetDevice& device, std::span<const std::byte> bytes, std::uint16_t queue = 0) {
    auto* packet = make_packet(bytes).release();
    if (device.tx_burst(queue, std::span(&packet, 1)) == 1) return true;
    rte_pktmbuf_free(packet);
    return false;
}

struct MemifTest : ::testing::Test {
    MemifTest() : directory(std::filesystem::temp_directory_path() / ("verbline-memif-" + std::to_string(getpid()))) {
        std::filesystem::create_directory(directory);
    }
    ~MemifTest() override { std::filesystem::remove_all(directory); }

    std::filesystem::path directory;
    MemifOptions client{.path = directory / "a.sock"}, server{.path = client.path, .server = true};
};

}  // namespace verbline::pmd::test_ends
