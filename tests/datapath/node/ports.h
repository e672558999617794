// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A port of a node over a device that the test holds, and what it hands to the control thread.

#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/node/gsi_queue.h"
#include "datapath/node/xrc_targets.h"
#include "tests/datapath/node/frames.h"
#include "tests/support/counter.h"
#include "tests/support/fake_netdev.h"

namespace verbline::test {

struct PortTest : ::testing::Test {
    std::unique_ptr<FakeNetDevice> make_device() {
        auto made = std::make_unique<FakeNetDevice>();
        device = made.get();
        return made;
    }
    /// What the switch receives from the port.
    std::vector<Packet> receive(pmd::NetDevice& port) {
        std::array<rte_mbuf*, 8> burst;
        const auto n = port.rx_burst(0, burst);
        std::vector<Packet> packets;
        for (std::size_t i = 0; i < n; ++i) packets.emplace_back(burst[i]);
        return packets;
    }
    std::vector<Packet> at_control() {
        std::array<rte_mbuf*, 8> frames;
        const auto n = queue->pop(frames);
        std::vector<Packet> packets;
        for (std::size_t i = 0; i < n; ++i) packets.emplace_back(frames[i]);
        return packets;
    }

    const int eal = (packet_pool(), 0);
    std::unique_ptr<node::GsiQueue> queue = node::GsiQueue::create("test.gsi").value();
    node::XrcTargets targets{packet_pool(), [] {}};
    FakeNetDevice* device = nullptr;
};

}  // namespace verbline::test
