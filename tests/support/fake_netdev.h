// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A device made of two queues that the test holds: what will be received and what was sent.

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rte_ethdev.h>

#include "pmd/netdev.h"
#include "tests/support/packet.h"

namespace verbline::test {

class FakeNetDevice : public pmd::NetDevice {
public:
    explicit FakeNetDevice(std::string name = "fake") : name_(std::move(name)) {
        capabilities_.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    }

    std::string_view name() const override { return name_; }
    const pmd::Capabilities& capabilities() const override { return capabilities_; }
    pmd::Capabilities& capabilities() { return capabilities_; }

    Result<void> up() override {
        is_up = true;
        return {};
    }
    void down() override { is_up = false; }
    bool link_up() override { return link; }
    int numa_socket() const override { return socket; }
    bool segments() const noexcept override { return segments_large; }
    std::optional<pmd::DatagramEnd> datagram_end() const override { return end; }

    std::uint16_t rx_burst(std::uint16_t, pmd::Burst burst) noexcept override {
        ++reads;
        const auto n = std::min(burst.size(), to_receive.size());
        for (std::size_t i = 0; i < n; ++i) {
            burst[i] = to_receive.front().release();
            to_receive.pop_front();
        }
        return static_cast<std::uint16_t>(n);
    }

    bool rx_consumed(std::uint16_t) const noexcept override { return consumes; }

    std::uint16_t tx_burst(std::uint16_t, pmd::Burst burst) noexcept override {
        if (burst.empty()) ++empty_bursts;
        const auto n = std::min(burst.size(), tx_room);
        for (auto* packet : burst.first(n)) sent.emplace_back(packet);
        tx_room -= n;
        bursts_sent += n > 0 ? 1 : 0;
        return static_cast<std::uint16_t>(n);
    }

    std::error_code set_identity(const pmd::Identity& who) override {
        identity = who;
        return {};
    }
    std::error_code attach_multicast(const pmd::MulticastAddress& group) override {
        groups.push_back(group);
        return {};
    }
    std::error_code detach_multicast(const pmd::MulticastAddress& group) override {
        std::erase_if(groups, [&](const auto& g) { return g.mac == group.mac; });
        return {};
    }
    std::error_code receive_all_multicast(bool all) override {
        all_multicast = all;
        return {};
    }

    void counters(const CounterVisitor& visit) const override { visit("fake_counter", 1, "there is one"); }

    /// Queues what `rx_burst` will return.
    void receive(std::span<const std::byte> bytes) { to_receive.push_back(make_packet(bytes)); }

    std::deque<Packet> to_receive;
    std::deque<Packet> sent;
    std::size_t tx_room = std::numeric_limits<std::size_t>::max();  ///< packets still accepted
    std::size_t reads = 0;                                          ///< calls of rx_burst
    std::size_t bursts_sent = 0;                                    ///< calls of tx_burst that took any
    std::size_t empty_bursts = 0;                                   ///< calls of tx_burst for what the device delays
    bool consumes = false;                                          ///< what rx_consumed answers
    std::optional<pmd::DatagramEnd> end;                            ///< what datagram_end answers
    int socket = pmd::any_numa_socket;                              ///< what numa_socket answers
    bool segments_large = true;                                     ///< what segments answers
    bool is_up = false;
    bool link = true;
    pmd::Identity identity;
    std::vector<pmd::MulticastAddress> groups;
    bool all_multicast = false;

private:
    std::string name_;
    pmd::Capabilities capabilities_;
};

}  // namespace verbline::test
