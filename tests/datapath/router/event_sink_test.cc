// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/event_sink.h"

#include <utility>

#include <poll.h>

#include <gtest/gtest.h>

#include "tests/datapath/router/two_ports.h"

namespace verbline::router {
namespace {

/// A sink whose control thread never looks, and how often it would have been woken.
struct Sink {
    bool wakes(bool busy, Time now) {
        events.wake_control(busy, now);
        pollfd readable{.fd = wake.get(), .events = POLLIN, .revents = 0};
        if (::poll(&readable, 1, 0) != 1) return false;
        wake.drain();
        return true;
    }
    bool emits_and_wakes(bool busy, Time now) {
        EXPECT_TRUE(events.emit(Unresolved{two_ports::left, {}}));
        return wakes(busy, now);
    }

    static constexpr unsigned capacity = 512;
    Ring<Event> ring = std::move(*Ring<Event>::create("event_sink", capacity));
    EventDescriptor wake = EventDescriptor::make();
    EventSink events{ring, &wake};
};

TEST(EventSink, WakesForEvents) {
    Sink sink;
    EXPECT_FALSE(sink.wakes(false, 0));
    EXPECT_TRUE(sink.emits_and_wakes(true, 0));
    EXPECT_FALSE(sink.wakes(true, 0)) << "once";
}

TEST(EventSink, SparesABusyShardMostWakesOfAStorm) {
    Sink sink;
    unsigned wakes = 0;
    constexpr unsigned polls = 100;  // in one instant
    for (unsigned i = 0; i < polls; ++i) wakes += sink.emits_and_wakes(true, second) ? 1 : 0;
    EXPECT_EQ(wakes, TokenBucket::default_burst);
    EXPECT_TRUE(sink.wakes(true, second + millisecond)) << "for those that waited";
    EXPECT_FALSE(sink.wakes(true, second + 2 * millisecond)) << "for nothing";
}

TEST(EventSink, WakesAtOnceIfTheShardIsIdleOrTheRingFills) {
    Sink sink;
    for (unsigned i = 0; i < 2 * TokenBucket::default_burst; ++i) sink.emits_and_wakes(true, second);
    EXPECT_FALSE(sink.emits_and_wakes(true, second)) << "the wakes are spent";
    EXPECT_TRUE(sink.wakes(false, second));
    for (unsigned i = 0; i < Sink::capacity / 4; ++i) std::ignore = sink.events.emit(Unresolved{two_ports::left, {}});
    EXPECT_TRUE(sink.wakes(true, second));
}

}  // namespace
}  // namespace verbline::router
