// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A device of several queues that the test fills and empties, packets whose hash the test chooses, and SoftwareRss
/// around them.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/wire/bytes.h"
#include "pmd/base/event_descriptor.h"
#include "pmd/rss/software_rss.h"
#include "tests/support/counter.h"
#include "tests/support/fake_netdev.h"

namespace verbline::test {

class QueuedDevice : public FakeNetDevice {
public:
    struct Queue {
        std::deque<Packet> to_receive;
        std::vector<Packet> sent;
        std::size_t tx_room = std::numeric_limits<std::size_t>::max();
        unsigned polls = 0;
        bool wanted = false;
        EventDescriptor event = EventDescriptor::make();
    };

    QueuedDevice(std::uint16_t rx_queues, std::uint16_t tx_queues) : queues(std::max(rx_queues, tx_queues)) {
        capabilities().rx_queues = rx_queues;
        capabilities().tx_queues = tx_queues;
    }

    std::uint16_t rx_burst(std::uint16_t number, pmd::Burst burst) noexcept override {
        auto& queue = queues[number];
        ++queue.polls;
        const auto n = std::min(burst.size(), queue.to_receive.size());
        for (auto*& packet : burst.first(n)) {
            packet = queue.to_receive.front().release();
            queue.to_receive.pop_front();
        }
        return static_cast<std::uint16_t>(n);
    }
    std::uint16_t tx_burst(std::uint16_t number, pmd::Burst burst) noexcept override {
        auto& queue = queues[number];
        const auto n = std::min(burst.size(), queue.tx_room);
        for (auto* packet : burst.first(n)) queue.sent.emplace_back(packet);
        queue.tx_room -= n;
        return static_cast<std::uint16_t>(n);
    }
    int rx_event(std::uint16_t number) const noexcept override { return signals ? queues[number].event.get() : -1; }
    void want_rx_event(std::uint16_t number, bool wanted) noexcept override { queues[number].wanted = wanted; }
    void queue_counters(std::uint16_t number, const CounterVisitor& visit) const override {
        visit("polls", queues[number].polls, "of the queue");
    }

    std::vector<Queue> queues;
    bool signals = true;
};

/// Of packets that say themselves what their hash is.
struct MarkHash : pmd::FlowHash {
    MarkHash() { std::iota(bytes.begin(), bytes.end(), std::uint8_t{1}); }

    std::span<const std::uint8_t> key() const override { return bytes; }
    void hash(pmd::Carries, std::span<rte_mbuf* const> packets,
              std::span<std::uint32_t> hashes) const noexcept override {
        for (std::size_t i = 0; i < packets.size(); ++i) hashes[i] = mark_of(packets[i]);
    }

    static wire::Bytes data_of(const rte_mbuf* packet) {
        return {rte_pktmbuf_mtod(packet, const std::byte*), packet->data_len};
    }
    static std::uint32_t mark_of(const rte_mbuf* packet) { return wire::load32(data_of(packet), 0); }
    static std::uint32_t number_of(const rte_mbuf* packet) { return wire::load32(data_of(packet), 4); }

    std::array<std::uint8_t, 40> bytes;
};

inline Packet marked(std::uint32_t mark, std::uint32_t number = 0) {
    auto bytes = pattern(60);
    wire::store32(bytes, 0, mark);
    wire::store32(bytes, 4, number);
    return make_packet(bytes);
}

/// Whether the device took a packet of this number.
inline bool send(pmd::NetDevice& device, std::uint16_t queue, std::uint32_t number, std::uint32_t mark = 0) {
    auto* packet = marked(mark, number).release();
    if (device.tx_burst(queue, {&packet, 1}) == 1) return true;
    rte_pktmbuf_free(packet);
    return false;
}

/// With a redirection table of as many entries as queues are rounded up to: packets of mark i go to queue i.
inline pmd::SoftwareRssOptions options_of(const pmd::FlowHash& flows, std::uint16_t queues,
                                          std::vector<std::uint16_t> owners) {
    pmd::SoftwareRssOptions options{.queues = queues, .flows = &flows, .owners = std::move(owners)};
    for (std::size_t i = 0; i < std::bit_ceil(std::size_t{queues}); ++i) {
        options.redirection.push_back(static_cast<std::uint16_t>(i % queues));
    }
    return options;
}

/// `queues` over a device of as many as there are owners.
struct Shared {
    Shared(std::uint16_t queues, std::vector<std::uint16_t> owners, std::uint16_t tx_queues = 1) {
        make(options_of(flows, queues, owners), static_cast<std::uint16_t>(owners.size()), tx_queues);
    }
    void make(pmd::SoftwareRssOptions options, std::uint16_t rx_queues, std::uint16_t tx_queues) {
        auto made = std::make_unique<QueuedDevice>(rx_queues, tx_queues);
        inside = made.get();
        device = pmd::SoftwareRss::create(std::move(made), std::move(options)).value();
    }

    void arrive(std::uint32_t mark, std::uint32_t number = 0, std::uint16_t queue = 0) {
        inside->queues[queue].to_receive.push_back(marked(mark, number));
    }
    /// One burst.
    std::vector<Packet> receive(std::uint16_t queue, std::size_t size = pmd::max_burst) {
        std::array<rte_mbuf*, pmd::max_burst> burst;
        const auto n = device->rx_burst(queue, std::span(burst).first(size));
        std::vector<Packet> got;
        for (auto* packet : std::span(burst).first(n)) got.emplace_back(packet);
        return got;
    }
    /// Whether the device took it.
    bool send(std::uint16_t queue, std::uint32_t mark, std::uint32_t number = 0) {
        return test::send(*device, queue, number, mark);
    }
    /// The numbers of what the device has sent, and forgets that.
    std::vector<std::uint32_t> sent(std::uint16_t queue = 0) {
        std::vector<std::uint32_t> numbers;
        for (const auto& packet : inside->queues[queue].sent) numbers.push_back(MarkHash::number_of(packet.get()));
        inside->queues[queue].sent.clear();
        return numbers;
    }
    std::uint64_t counter(std::string_view name) const { return test::counter(*device, name); }
    std::uint64_t queue_counter(std::uint16_t queue, std::string_view wanted) const {
        std::uint64_t found = ~std::uint64_t{0};
        device->queue_counters(queue, [&](std::string_view name, std::uint64_t value, std::string_view) {
            if (name == wanted) found = value;
        });
        return found;
    }

    MarkHash flows;
    QueuedDevice* inside = nullptr;
    std::unique_ptr<pmd::SoftwareRss> device;
};

}  // namespace verbline::test
