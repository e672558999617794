// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What every decorator owes to the device inside it.

#include <array>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/counter.h"
#include "tests/support/fake_netdev.h"

namespace verbline::test {

/// A device none of whose answers is the contract's default.
struct WrappedDevice : FakeNetDevice {
    WrappedDevice() : FakeNetDevice("wrapped") { capabilities().max_packet = 1234; }

    std::optional<wire::MacAddress> mac() const override { return wire::MacAddress{{std::byte{2}}}; }
    int numa_socket() const override { return 3; }
    bool segments() const noexcept override { return false; }
    std::optional<pmd::RssTable> rss() const override { return pmd::RssTable{}; }
    int rx_event(std::uint16_t) const noexcept override { return 17; }
    void want_rx_event(std::uint16_t, bool wanted) noexcept override { event_wanted = wanted; }
    bool rx_consumed(std::uint16_t) const noexcept override { return true; }
    std::uint16_t send(std::uint16_t, std::span<const pmd::Datagram> burst) noexcept override {
        for (const auto& datagram : burst) sent.emplace_back(datagram.payload);
        return static_cast<std::uint16_t>(burst.size());
    }

    bool wants_link_up() const noexcept override { return urgent; }
    void queue_counters(std::uint16_t queue, const CounterVisitor& visit) const override {
        visit("queue", queue, "whose counters these are");
    }

    bool event_wanted = false, urgent = false;
};

/// `decorate` puts its decorator around a device, configured so that it changes nothing.
template <class Decorate>
void expect_forwards_everything(Decorate decorate) {
    auto owned = std::make_unique<WrappedDevice>();
    auto& inside = *owned;
    const std::unique_ptr<pmd::NetDevice> device = decorate(std::move(owned));
    EXPECT_EQ(device->name(), "wrapped");
    EXPECT_EQ(device->capabilities().max_packet, 1234u);
    EXPECT_EQ(device->mac(), inside.mac());
    EXPECT_EQ(device->numa_socket(), 3);
    EXPECT_FALSE(device->segments());
    EXPECT_TRUE(device->rss().has_value());
    EXPECT_EQ(device->rx_event(0), 17);
    device->want_rx_event(0, true);
    EXPECT_TRUE(inside.event_wanted);
    EXPECT_TRUE(device->rx_consumed(0));

    EXPECT_TRUE(device->up());
    EXPECT_TRUE(inside.is_up);
    inside.link = false;
    EXPECT_FALSE(device->link_up());
    EXPECT_FALSE(device->wants_link_up());
    inside.urgent = true;
    EXPECT_TRUE(device->wants_link_up());
    const auto groups = inside.groups.size();
    const pmd::MulticastAddress group{.mac = {{std::byte{3}, std::byte{9}}}};
    EXPECT_FALSE(device->attach_multicast(group));
    EXPECT_EQ(inside.groups.size(), groups + 1);
    EXPECT_FALSE(device->detach_multicast(group));
    EXPECT_EQ(inside.groups.size(), groups);
    EXPECT_FALSE(device->receive_all_multicast(true));
    EXPECT_TRUE(inside.all_multicast);
    EXPECT_FALSE(device->set_identity({.pkey = wire::PKey{0x8001}}));
    EXPECT_EQ(inside.identity.pkey, wire::PKey{0x8001});
    EXPECT_EQ(counter(*device, "fake_counter"), 1u);
    std::uint64_t queue = 0;
    device->queue_counters(7, [&](std::string_view, std::uint64_t value, std::string_view) { queue = value; });
    EXPECT_EQ(queue, 7u);

    inside.receive(pattern(60));
    std::array<rte_mbuf*, 2> burst{};
    ASSERT_EQ(device->rx_burst(0, burst), 1);
    ASSERT_EQ(device->tx_burst(0, pmd::Burst(burst).first(1)), 1);
    const std::array datagrams{pmd::Datagram{.payload = make_packet(pattern(61)).release()}};
    ASSERT_EQ(device->send(0, datagrams), 1) << "a device that carries datagrams sends nothing";
    ASSERT_EQ(inside.sent.size(), 2u);
    EXPECT_EQ(bytes_of(inside.sent[1]), pattern(61));

    device->down();
    EXPECT_FALSE(inside.is_up);
}

}  // namespace verbline::test
