// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Two hosts of a hub that is not there: their lanes and what the hub says to them are the test's.

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>

#include <gtest/gtest.h>

#include "pmd/base/event_descriptor.h"
#include "pmd/bridge/frame.h"
#include "pmd/direct/direct_links.h"
#include "tests/support/counter.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/packet.h"
#include "tests/support/unix_socket.h"

namespace verbline::pmd::test_direct {

using test::counter, test::Packet;
using Frames = std::vector<test::ByteVector>;

constexpr wire::MacAddress mac(unsigned host) {
    return {{std::byte{6}, std::byte{0x76}, {}, {}, {}, static_cast<std::byte>(host)}};
}
constexpr wire::MacAddress group{{std::byte{1}, {}, std::byte{0x5e}, {}, {}, std::byte{9}}};

inline test::ByteVector frame(const wire::MacAddress& to, const wire::MacAddress& from, unsigned content = 0) {
    auto bytes = test::pattern(60, content);
    std::ranges::copy(to.bytes, bytes.begin());
    std::ranges::copy(from.bytes, bytes.begin() + 6);
    return bytes;
}

/// As a lane that can be slept on.
class Lane : public test::FakeNetDevice {
public:
    int rx_event(std::uint16_t) const noexcept override { return event_.get(); }
    void want_rx_event(std::uint16_t, bool is_wanted) noexcept override {
        event_.drain();
        wanted = is_wanted;
    }
    void signal() const { event_.signal(); }
    bool wanted = false;

private:
    EventDescriptor event_ = EventDescriptor::make();
};

class Broker : public DirectBroker {
public:
    int event() const override { return event_.get(); }
    bool ask(wire::MacAddress peer) override {
        if (silent) return false;
        asked.push_back(peer);
        return true;
    }
    std::optional<DirectNews> next_news() override {
        if (news_.empty()) return std::nullopt;
        auto first = std::move(news_.front());
        news_.pop_front();
        return first;
    }
    void end(DirectId id) override { ended.insert(id); }

    void say(DirectNews news) {
        news_.push_back(std::move(news));
        event_.signal();
    }
    void refuse(const wire::MacAddress& peer) {
        say({.kind = DirectNews::Kind::refused, .peer = peer, .id = {}, .code = EPERM, .socket = {}});
    }

    bool silent = false;
    std::vector<wire::MacAddress> asked;
    std::set<DirectId> ended;

private:
    std::deque<DirectNews> news_;
    EventDescriptor event_ = EventDescriptor::make();
};

struct Host {
    explicit Host(unsigned number, const Time& now) : address(mac(number)) {
        auto made_lane = std::make_unique<Lane>();
        lane = made_lane.get();
        lane->capabilities().max_packet = 2000;
        auto made =
            DirectLinks::create(std::move(made_lane), {.pool = test::packet_pool(), .clock = [&now] { return now; }});
        if (!made) throw std::runtime_error(made.error().what);
        device = std::move(*made);
        EXPECT_TRUE(device->up());
        device->use(broker);
        device->link_up();
    }
    /// How many of the frames were taken; those that were not are freed.
    std::size_t send(std::span<const test::ByteVector> frames) const {
        std::vector<rte_mbuf*> burst;
        for (const auto& bytes : frames) burst.push_back(test::make_packet(bytes).release());
        const auto taken = device->tx_burst(0, burst);
        for (auto* const left : std::span(burst).subspan(taken)) rte_pktmbuf_free(left);
        return taken;
    }
    std::size_t send(const test::ByteVector& one) const { return send(std::span(&one, 1)); }
    std::vector<test::ByteVector> receive() const {
        std::array<rte_mbuf*, max_burst> burst;
        std::vector<test::ByteVector> frames;
        for (auto* raw : std::span(burst).first(device->rx_burst(0, burst))) {
            const Packet packet(raw);
            const auto bytes = test::bytes_of(packet);
            frames.emplace_back(bytes.begin(), bytes.end());
        }
        return frames;
    }
    std::vector<test::ByteVector> sent_by_lane() const {
        std::vector<test::ByteVector> frames;
        for (const auto& packet : std::exchange(lane->sent, {})) {
            const auto bytes = test::bytes_of(packet);
            frames.emplace_back(bytes.begin(), bytes.end());
        }
        return frames;
    }
    bool awake(int milliseconds = 0) const {
        pollfd event{.fd = device->rx_event(0), .events = POLLIN, .revents = 0};
        return poll(&event, 1, milliseconds) == 1;
    }

    wire::MacAddress address;
    Broker broker;
    Lane* lane = nullptr;
    std::unique_ptr<DirectLinks> device;
};

struct DirectLinksTest : ::testing::Test {
    /// As the hub does it, `asker` having asked.
    void introduce(Host& asker, Host& peer) {
        auto [one, other] = test::socket_pair();
        ++last_id;
        asker.broker.say({DirectNews::Kind::granted, peer.address, DirectId{last_id}, 0, std::move(one)});
        peer.broker.say({DirectNews::Kind::offered, asker.address, DirectId{last_id}, 0, std::move(other)});
    }
    static std::uint64_t links(const Host& host) { return counter(*host.device, "direct_links"); }
    /// Until each has so many links.
    static bool connect(Host& one, Host& other, std::uint64_t count = 1) {
        for (int i = 0; i < 8 && (links(one) != count || links(other) != count); ++i) {
            one.device->link_up();
            other.device->link_up();
        }
        return links(one) == count && links(other) == count;
    }

    Time now = second;
    std::uint32_t last_id = 0;
    Host a{1, now}, b{2, now};
};

}  // namespace verbline::pmd::test_direct
