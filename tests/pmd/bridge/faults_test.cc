// SPDX-License-Identifier: BSD-3-Clause
// A bridge and a switch while each of their calls fails once: frames go on or are dropped by name, and who sleeps is
// woken.
#include "tests/support/faults.h"

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "pmd/base/clock.h"
#include "pmd/base/event_descriptor.h"
#include "pmd/bridge/bridge.h"
#include "pmd/bridge/switch.h"
#include "tests/support/counter.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/faulty_pool.h"

namespace verbline::pmd::faults {
namespace {

using test::Outcome, test::WithoutFaults;

constexpr wire::MacAddress host(unsigned number) {
    return {{std::byte{2}, {}, {}, {}, {}, static_cast<std::byte>(number)}};
}
constexpr wire::MacAddress us = host(0xff), group{{std::byte{3}, {}, {}, {}, std::byte{0xc0}, {}}};

test::ByteVector frame(const wire::MacAddress& to, const wire::MacAddress& from) {
    auto bytes = test::pattern(100);
    std::memcpy(bytes.data(), to.bytes.data(), 6);
    std::memcpy(bytes.data() + 6, from.bytes.data(), 6);
    return bytes;
}

/// A device that signals what it has.
struct Signalling : test::FakeNetDevice {
    using FakeNetDevice::FakeNetDevice;
    int rx_event(std::uint16_t) const noexcept override { return event.get(); }
    void want_rx_event(std::uint16_t, bool) noexcept override {}
    void arrive(const test::ByteVector& bytes) {
        const WithoutFaults arriving;
        receive(bytes);
        event.signal();
    }

    /// Arrives right after somebody has looked in vain.
    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override {
        const auto received = FakeNetDevice::rx_burst(queue, burst);
        if (received == 0 && !late.empty()) arrive(std::exchange(late, {}));
        return received;
    }

    test::ByteVector late;
    EventDescriptor event = EventDescriptor::make();
};

struct Members {
    Members() {
        const WithoutFaults making;
        for (auto& each : owned) each = std::make_unique<Signalling>();
        a = owned[0].get();
        b = owned[1].get();
        c = owned[2].get();
    }
    /// What was sent is the test's to free.
    static std::size_t take(Signalling& device) {
        const auto count = device.sent.size();
        device.sent.clear();
        return count;
    }

    std::array<std::unique_ptr<Signalling>, 3> owned;
    Signalling *a, *b, *c;
};

TEST(BridgeFaults, FramesGoOnOrAreCountedAndWhoSleepsIsWoken) {
    test::expect_survives_faults("bridge", []() -> Outcome {
        Members members;
        std::vector<std::unique_ptr<NetDevice>> devices;
        devices.push_back(std::move(members.owned[0]));
        devices.push_back(std::move(members.owned[1]));
        auto made = Bridge::create("fabric", std::move(devices), test::faulty_pool(), monotonic_now);
        if (!made) return made.error();
        auto& bridge = **made;
        EXPECT_FALSE(bridge.set_identity({.mac = us}));
        if (auto up = bridge.up(); !up) return up.error();
        EXPECT_TRUE(bridge.link_up());

        bridge.want_rx_event(0, true);
        members.a->arrive(frame(group, host(1)));
        if (const int event = bridge.rx_event(0); event >= 0) {
            const WithoutFaults looking;
            pollfd one{.fd = event, .events = POLLIN, .revents = 0};
            EXPECT_EQ(poll(&one, 1, 0), 1) << "who sleeps would not be woken";
        }
        bridge.want_rx_event(0, false);

        std::array<rte_mbuf*, 8> burst;
        const auto received = bridge.rx_burst(0, burst);
        EXPECT_EQ(received, 1);
        rte_pktmbuf_free_bulk(burst.data(), received);
        rte_mbuf* ours = nullptr;
        {
            const WithoutFaults making;
            ours = test::make_packet(frame(group, us)).release();
        }
        EXPECT_EQ(bridge.tx_burst(0, std::span(&ours, 1)), 1);
        const WithoutFaults looking;
        EXPECT_EQ(
            Members::take(*members.a) + Members::take(*members.b) + test::counter(bridge, "flood_dropped_no_mbuf"), 3u)
            << "one of theirs to the other, one of ours to both";
        return {};
    });
}

TEST(SwitchFaults, FramesGoOnOrAreCountedAndWhoSleepsIsWoken) {
    test::expect_survives_faults("switch", []() -> Outcome {
        Members members;
        Switch bridge({.pool = test::faulty_pool()});
        if (!bridge.can_sleep()) return Error{EMFILE, "no descriptors"};
        const auto a = bridge.add_lane(std::move(members.owned[0]), host(1));
        const auto b = bridge.add_lane(std::move(members.owned[1]), host(2));
        if (auto uplink = bridge.add_uplink(std::move(members.owned[2])); !uplink) return uplink.error();
        bridge.set_group(b, group, true);
        bridge.upkeep(second, Switch::Links::all);

        members.a->arrive(frame(host(2), host(1)));
        members.a->arrive(frame(group, host(1)));
        while (bridge.poll()) continue;
        bridge.wait();  // for the new ports
        const auto began = monotonic_now();
        {
            const WithoutFaults arriving;
            members.a->late = frame(host(2), host(1));
        }
        bridge.wait();
        EXPECT_LT(monotonic_now() - began, 50 * millisecond) << "nobody has woken it";
        while (bridge.poll()) continue;

        const WithoutFaults looking;
        EXPECT_EQ(bridge.counters(a).rx_packets.value(), 3u);
        EXPECT_EQ(Members::take(*members.b) + Members::take(*members.c) + bridge.counters(a).rx_dropped_no_mbuf.value(),
                  4u)
            << "two to the one, one to the group and so to both";
        bridge.remove(a);
        return {};
    });
}

}  // namespace
}  // namespace verbline::pmd::faults
