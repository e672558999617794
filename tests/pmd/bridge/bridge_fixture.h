// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A bridge of fake devices, with one host behind each.

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "pmd/bridge/bridge.h"
#include "tests/support/counter.h"
#include "tests/support/fake_netdev.h"

namespace verbline::pmd::test_bridge {

using test::FakeNetDevice;
using test::make_packet;

constexpr wire::MacAddress host(unsigned number) {
    return {{std::byte{2}, {}, {}, {}, {}, static_cast<std::byte>(number)}};
}
inline constexpr wire::MacAddress us = host(0xff), group{{std::byte{3}, {}, {}, {}, std::byte{0xc0}, {}}};

struct BridgeTest : ::testing::Test {
    void build(std::size_t count) {
        std::vector<std::unique_ptr<NetDevice>> devices;
        for (std::size_t i = 0; i < count; ++i) {
            auto fake = std::make_unique<FakeNetDevice>("fake" + std::to_string(i));
            members.push_back(fake.get());
            devices.push_back(std::move(fake));
        }
        bridge = Bridge::create("fabric", std::move(devices), test::packet_pool(), [this] { return now; }).value();
    }
    void SetUp() override {
        build(3);
        ASSERT_FALSE(bridge->set_identity({.mac = us}));
    }
    static test::ByteVector frame(const wire::MacAddress& to, const wire::MacAddress& from, unsigned mark = 0) {
        auto bytes = test::pattern(100, mark);
        std::memcpy(bytes.data(), to.bytes.data(), 6);
        std::memcpy(bytes.data() + 6, from.bytes.data(), 6);
        return bytes;
    }
    /// What reaches us of all that the members have received.
    std::vector<test::Packet> receive() {
        std::vector<test::Packet> got;
        for (unsigned round = 0; round < 100; ++round) {
            std::array<rte_mbuf*, 32> burst;
            for (auto* packet : std::span(burst).first(bridge->rx_burst(0, burst))) got.emplace_back(packet);
        }
        return got;
    }
    bool send(const test::ByteVector& bytes) {
        auto* packet = make_packet(bytes).release();
        if (bridge->tx_burst(0, std::span(&packet, 1)) == 1) return true;
        rte_pktmbuf_free(packet);
        return false;
    }
    std::vector<std::size_t> sent() const {
        std::vector<std::size_t> counts;
        for (const auto* member : members) counts.push_back(member->sent.size());
        return counts;
    }
    /// Each member i learns `host(i)`.
    void introduce() {
        for (unsigned i = 0; i < members.size(); ++i) members[i]->receive(frame(us, host(i)));
        receive();
    }
    std::uint64_t counter(std::string_view wanted) const { return test::counter(*bridge, wanted); }
    using Counts = std::vector<std::size_t>;

    Time now = 0;
    std::vector<FakeNetDevice*> members;
    std::unique_ptr<Bridge> bridge;
};

}  // namespace verbline::pmd::test_bridge
