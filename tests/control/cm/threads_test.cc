// SPDX-License-Identifier: BSD-3-Clause
// Several threads at one manager: some bring messages, some poll, connect and drop, one keeps time.
#include <atomic>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/control/cm/world.h"

namespace verbline::cm::test {
namespace {

/// A wire that threads empty together.
class SharedWire {
public:
    struct Flight {
        unsigned to = 0, from = 0;
        mad::MadBuffer mad{};
    };
    void put(const Flight& flight) {
        const std::lock_guard lock(mutex_);
        flights_.push_back(flight);
    }
    /// The oldest, and those behind it that go to the same end; at most so many.
    std::vector<Flight> take(std::size_t most) {
        const std::lock_guard lock(mutex_);
        std::vector<Flight> taken;
        while (!flights_.empty() && taken.size() < most && (taken.empty() || taken[0].to == flights_.front().to)) {
            taken.push_back(flights_.front());
            flights_.pop_front();
        }
        return taken;
    }

private:
    std::mutex mutex_;
    std::deque<Flight> flights_;
};

struct End final : mad::GmpChannel {
    End(SharedWire& w, unsigned n) : wire(w), number(n) {
        manager =
            Manager::create(Manager::Options{.ca_guid = wire::Guid{0x1000 + n}, .seed = 0x1000'0000 * (n + 1)}, *this);
    }
    void send(const mad::GmpPeer&, mad::MadBytes mad) noexcept override {
        SharedWire::Flight flight{.to = 1 - number, .from = number};
        std::ranges::copy(mad, flight.mad.begin());
        wire.put(flight);
    }
    SharedWire& wire;
    unsigned number;
    Manager::Pointer manager;
};

struct Rig {
    SharedWire wire;
    End ends[2] = {{wire, 0}, {wire, 1}};
    std::atomic<Time> now = second;
    std::atomic<bool> done = false;

    /// Whether there was something.
    bool carry_some(std::size_t most) {
        const auto flights = wire.take(most);
        std::vector<mad::GmpArrival> burst;
        for (const auto& flight : flights) burst.push_back(mad::GmpArrival::of(World::peer(flight.from), flight.mad));
        if (!burst.empty()) ends[flights[0].to].manager->receive(burst, now);
        return !burst.empty();
    }
    void carry(std::size_t most) {
        while (!done) {
            if (!carry_some(most)) std::this_thread::yield();
        }
    }
    void keep_time() {
        while (!done) {
            now += 20 * millisecond;
            for (auto& end : ends) end.manager->tick(now);
            std::this_thread::yield();
        }
    }
    /// Answers what comes for one service id; endpoints are dropped at once by every third.
    void serve(wire::CmServiceId id) {
        const auto listener = *ends[1].manager->listen(id, ~std::uint64_t{0}, now);
        std::set<EndpointPointer> open;
        for (unsigned n = 0; !done;) {
            while (const auto event = listener->poll(now)) {
                const auto& endpoint = std::get<RequestReceived>(*event).endpoint;
                (void)endpoint->reply({.qpn = wire::Qpn{++n}}, now);
                if (n % 3 != 0) open.insert(endpoint);
            }
            std::erase_if(open, [&](const EndpointPointer& endpoint) {
                (void)endpoint->poll(now);
                return endpoint->state() == ConnectionState::timewait || endpoint->state() == ConnectionState::idle;
            });
            std::this_thread::yield();
        }
    }
    unsigned call(wire::CmServiceId id, std::uint32_t first_qpn, unsigned count) {
        unsigned connected = 0;
        for (unsigned i = 0; i < count; ++i) {
            Request request{.service = id, .qpn = wire::Qpn{first_qpn + i}, .max_cm_retries = 3};
            request.primary.remote_gid = gid_of(1);
            request.primary.local_gid = gid_of(0);
            const auto endpoint = *ends[0].manager->connect(request, now);
            for (bool over = false; !over; std::this_thread::yield()) {
                const auto event = endpoint->poll(now);
                if (!event) continue;
                over = true;
                if (!std::holds_alternative<ReplyReceived>(*event)) continue;
                ++connected;
                (void)endpoint->ready_to_use({}, now);
                if (i % 2 == 0) (void)endpoint->disconnect({}, now);
            }
        }
        return connected;
    }
};

TEST(Threads, ManyConnectionsAtOnce) {
    constexpr unsigned calls = 300;
    Rig rig;
    std::vector<std::jthread> helpers;
    for (const std::size_t most : {1, 40}) helpers.emplace_back([&, most] { rig.carry(most); });
    for (unsigned i = 0; i < 2; ++i) helpers.emplace_back([&, i] { rig.serve(wire::CmServiceId{i}); });
    helpers.emplace_back([&] { rig.keep_time(); });
    std::atomic<unsigned> connected = 0;
    {
        std::vector<std::jthread> callers;
        for (unsigned i = 0; i < 2; ++i) {
            callers.emplace_back([&, i] { connected += rig.call(wire::CmServiceId{i}, 0x1'0000 * (i + 1), calls); });
        }
    }
    rig.done = true;
    helpers.clear();
    EXPECT_GT(connected, 0u);
    // All users are gone: with the wire working, the managers empty themselves.
    for (int i = 0; i < 100'000 && rig.ends[0].manager->size() + rig.ends[1].manager->size() != 0; ++i) {
        while (rig.carry_some(40)) {}
        rig.now += 100 * millisecond;
        for (auto& end : rig.ends) end.manager->tick(rig.now);
    }
    EXPECT_EQ(rig.ends[0].manager->size(), 0u);
    EXPECT_EQ(rig.ends[1].manager->size(), 0u);
}

}  // namespace
}  // namespace verbline::cm::test
