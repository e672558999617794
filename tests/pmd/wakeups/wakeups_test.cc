// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/wakeups/wakeups.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pmd/base/event_descriptor.h"
#include "tests/support/fake_netdev.h"

namespace verbline::pmd {
namespace {

using ::testing::ElementsAre, ::testing::IsEmpty;

struct Signalling : test::FakeNetDevice {
    int rx_event(std::uint16_t queue) const noexcept override { return queue == 0 ? event.get() : -1; }
    void want_rx_event(std::uint16_t, bool is_wanted) noexcept override { wanted = is_wanted; }

    EventDescriptor event = EventDescriptor::make();
    bool wanted = false;
};

std::vector<std::uint64_t> fired(Wakeups& wakeups, Time longest = 0) {
    std::vector<std::uint64_t> tags;
    wakeups.wait(longest, [&](std::uint64_t tag) { tags.push_back(tag); });
    return tags;
}

TEST(Wakeups, ReportsWhichDeviceSignals) {
    Signalling a, b;
    Wakeups wakeups;
    ASSERT_TRUE(wakeups.want(a, 0, 7));
    ASSERT_TRUE(wakeups.want(b, 0, 8));
    EXPECT_TRUE(a.wanted && b.wanted);
    EXPECT_THAT(fired(wakeups), IsEmpty());
    b.event.signal();
    EXPECT_THAT(fired(wakeups, 10 * second), ElementsAre(8));
}

TEST(Wakeups, ReportsASignalOnce) {
    const auto event = EventDescriptor::make();
    Wakeups wakeups;
    ASSERT_TRUE(wakeups.add(event.get(), 7));
    event.signal();
    EXPECT_THAT(fired(wakeups), ElementsAre(7));
    EXPECT_TRUE(wakeups.add(event.get(), 7)) << "there already";
    EXPECT_THAT(fired(wakeups), IsEmpty());
    event.signal();
    EXPECT_THAT(fired(wakeups), ElementsAre(7));
}

TEST(Wakeups, ArmsNothingOfADeviceWithoutEvent) {
    Signalling device;
    Wakeups wakeups;
    EXPECT_FALSE(wakeups.want(device, 1, 7));
    EXPECT_FALSE(device.wanted);
}

}  // namespace
}  // namespace verbline::pmd
