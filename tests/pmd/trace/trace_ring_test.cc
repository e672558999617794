// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/trace/trace_ring.h"

#include <memory>

#include <gtest/gtest.h>

namespace verbline::pmd {
namespace {

TEST(TraceRing, KeepsTheLastEvents) {
    const auto ring = std::make_unique<TraceRing>();
    Trace trace(ring.get());
    for (std::size_t i = 0; i < TraceRing::capacity + 3; ++i) trace.record(TraceEvent::received, 7, i);
    EXPECT_EQ(ring->recorded(), TraceRing::capacity + 3);
    for (const std::uint64_t number : {std::uint64_t{3}, TraceRing::capacity + 2}) {
        const auto& entry = (*ring)[number];
        EXPECT_EQ(entry.event, TraceEvent::received);
        EXPECT_EQ(entry.port, 7);
        EXPECT_EQ(entry.value, number);
    }
    EXPECT_LE((*ring)[3].cycles, (*ring)[TraceRing::capacity + 2].cycles);
}

TEST(TraceRing, EventsNeedNoPortAndNoValue) {
    const auto ring = std::make_unique<TraceRing>();
    Trace(ring.get()).record(TraceEvent::awake);
    EXPECT_EQ((*ring)[0].port, Trace::no_port);
    EXPECT_EQ((*ring)[0].value, 0u);
}

TEST(TraceRing, WithoutOneNothingIsRecorded) {
    Trace trace;
    trace.record(TraceEvent::received, 1, 2);
}

TEST(TraceEvents, HaveATextEach) {
    EXPECT_EQ(trace_event_texts[static_cast<std::size_t>(TraceEvent::dropped_full)].name, "dropped_full");
    for (const auto& text : trace_event_texts) EXPECT_FALSE(text.help.empty()) << text.name;
}

}  // namespace
}  // namespace verbline::pmd
