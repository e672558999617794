// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <rte_cycles.h>
#include <rte_mbuf_dyn.h>
#include <rte_mempool.h>

#include <gtest/gtest.h>

#include "datapath/traffic/forwarder.h"
#include "datapath/traffic/generator.h"
#include "datapath/traffic/sink.h"
#include "tests/support/fake_netdev.h"

namespace verbline::traffic {
namespace {

using test::FakeNetDevice;

class TrafficTasks : public ::testing::Test {
protected:
    void SetUp() override { ASSERT_NE(pool, nullptr); }
    void TearDown() override {
        device.sent.clear();
        EXPECT_EQ(rte_mempool_in_use_count(pool.get()), 0u);
    }

    Generator generator(const GeneratorSettings& settings) { return {device, 0, *pool, frames, settings}; }
    /// What was sent arrives.
    void loop() {
        for (auto& packet : device.sent) device.to_receive.push_back(std::move(packet));
        device.sent.clear();
    }

    struct FreePool {
        void operator()(rte_mempool* made) const { rte_mempool_free(made); }
    };
    std::unique_ptr<rte_mempool, FreePool> pool{make_frame_pool("frames", 511, 1518, SOCKET_ID_ANY)};
    FakeNetDevice device;
    FrameTemplate frames = FrameTemplate::make({}, SizeMix::parse("64,1518").value()).value();
};

TEST_F(TrafficTasks, GeneratorSendsAsManyAsItIsTold) {
    auto sender = generator({.burst = 32, .frames = 100});
    EXPECT_TRUE(sender.poll());
    EXPECT_EQ(device.sent.size(), 32u);
    EXPECT_FALSE(sender.done());
    for (unsigned i = 0; i < 5; ++i) sender.poll();
    EXPECT_TRUE(sender.done());
    EXPECT_EQ(device.sent.size(), 100u);
    EXPECT_EQ(sender.counters().tx_packets.value(), 100u);
    EXPECT_EQ(sender.counters().tx_bytes.value(), 50u * (64 + 1518));
    EXPECT_FALSE(sender.poll());
}

TEST_F(TrafficTasks, GeneratorKeepsWhatTheDeviceDoesNotTake) {
    auto sender = generator({.burst = 32, .frames = 64});
    device.tx_room = 20;
    EXPECT_TRUE(sender.poll());
    EXPECT_FALSE(sender.poll());
    EXPECT_EQ(sender.counters().tx_device_full.value(), 2u);
    device.tx_room = 1000;
    for (unsigned i = 0; i < 3; ++i) sender.poll();
    ASSERT_EQ(device.sent.size(), 64u);
    for (std::uint64_t i = 0; i < 64; ++i) EXPECT_EQ(find_stamp(test::bytes_of(device.sent[i]))->sequence, i);
}

TEST_F(TrafficTasks, GeneratorFreesWhatTheDeviceNeverTook) {
    auto sender = generator({.burst = 32});
    device.tx_room = 3;
    sender.poll();
    EXPECT_EQ(device.sent.size(), 3u);
}  // TearDown looks at the pool

TEST_F(TrafficTasks, GeneratorCountsThatItsPoolIsEmpty) {
    auto sender = generator({.burst = 64});
    for (unsigned i = 0; i < 10; ++i) sender.poll();
    EXPECT_GT(sender.counters().tx_no_buffers.value(), 0u);
    EXPECT_EQ(sender.counters().tx_packets.value(), device.sent.size());
    EXPECT_LE(device.sent.size(), 511u);
}

TEST_F(TrafficTasks, GeneratorKeepsItsRate) {
    auto sender = generator({.burst = 1, .rate = Rate{RateUnit::frames, 1000}, .frames = 21});
    const CycleClock clock;
    while (!sender.done()) sender.poll();
    EXPECT_GE(clock.now(), 18 * millisecond);  // the first two at once
}

TEST_F(TrafficTasks, GeneratorMakesUpForLostTime) {
    const auto sent_after_a_pause = [&](Time catch_up) {
        auto sender = generator({.burst = 1, .rate = Rate{RateUnit::frames, 10'000}, .catch_up = catch_up});
        const CycleClock clock;
        sender.poll();
        while (clock.now() < 20 * millisecond) {}
        std::size_t sent = 0;  // at once, or nearly so
        while (sender.poll()) ++sent;
        device.sent.clear();
        return sent;
    };
    EXPECT_LE(sent_after_a_pause(0), 10u);
    const auto made_up = sent_after_a_pause(10 * millisecond);
    EXPECT_GE(made_up, 100u);
    EXPECT_LE(made_up, 120u);
}

TEST_F(TrafficTasks, GeneratorThatStoppedOnlySendsWhatTheDeviceHoldsBack) {
    auto sender = generator({.burst = 8});
    sender.poll();
    sender.stop();
    EXPECT_FALSE(sender.poll());
    EXPECT_EQ(device.sent.size(), 8u);
    EXPECT_EQ(device.empty_bursts, 1u);
}

TEST_F(TrafficTasks, PayloadIsZerosThoughBuffersAreUsedAgain) {
    auto sender = generator({.burst = 64, .frames = 2000});
    while (!sender.done()) {
        sender.poll();
        for (const auto& packet : device.sent) {
            const auto bytes = test::bytes_of(packet);
            EXPECT_TRUE(std::ranges::all_of(std::span(bytes).subspan(frames.stamp_at() + Stamp::size),
                                            [](std::byte b) { return b == std::byte{0}; }));
        }
        device.sent.clear();
    }
}

TEST_F(TrafficTasks, SinkMeasuresWhatTheGeneratorSent) {
    auto sender = generator({.run = 5, .stream = 2, .burst = 32, .frames = 64});
    sender.poll(), sender.poll();
    device.sent.erase(device.sent.begin() + 10, device.sent.begin() + 13);
    std::swap(device.sent[20], device.sent[21]);
    loop();
    Sink sink(device, 0, {.run = 5, .latency = true});
    EXPECT_TRUE(sink.poll());
    EXPECT_FALSE(sink.poll());
    const auto totals = sink.stream(2);
    EXPECT_EQ(totals.received, 61u);
    EXPECT_EQ(totals.missing(), 3u);
    EXPECT_EQ(totals.reordered, 1u);
    EXPECT_EQ(sink.latency().count(), 61u);
    EXPECT_GT(sink.latency().min(), 0u);
    EXPECT_EQ(sink.counters().rx_stamped.value(), 61u);
}

/// Where DPDK may put the times: without having it reserve the field, which it never gives back.
ArrivalTimes free_field() {
    constexpr auto align = alignof(rte_mbuf_timestamp_t);
    constexpr auto offset = (offsetof(rte_mbuf, dynfield1) + align - 1) / align * align;
    return {.field_offset = int{offset}, .flag = RTE_MBUF_F_FIRST_FREE};
}

/// Frames that arrived two thousand ticks, of four cycles each, after the device's clock showed 5000.
TEST_F(TrafficTasks, SinkMeasuresByTheDevicesClock) {
    auto arrivals = free_field();
    SharedConversion clock;
    arrivals.clock = &clock;
    const auto date = [&](rte_mbuf& frame, std::uint64_t ticks) {
        *RTE_MBUF_DYNFIELD(&frame, arrivals.field_offset, rte_mbuf_timestamp_t*) = ticks;
        frame.ol_flags |= arrivals.flag;
    };
    auto sender = generator({.run = 5, .burst = 32, .frames = 32});
    sender.poll();
    const auto sent = find_stamp(test::bytes_of(device.sent[0]))->time;
    constexpr std::uint64_t ticks = 7000, early = 5000 - 10'000, late = std::uint64_t{1} << 60;
    for (std::size_t i = 0; i < 20; ++i) date(*device.sent[i], ticks);
    date(*device.sent[20], early), date(*device.sent[21], late);
    loop();
    Sink sink(device, 0, {.run = 5, .latency = true, .arrivals = arrivals});
    clock.set(ClockConversion{.ticks = 5000, .cycles = sent, .cycles_per_tick = 4});
    // Frames are received later than they have arrived.
    while (rte_rdtsc() - sent < 3 * 8000) {}
    EXPECT_TRUE(sink.poll());
    EXPECT_EQ(sink.counters().rx_stamped.value(), 32u);
    EXPECT_EQ(sink.counters().rx_misdated.value(), 2u);
    EXPECT_EQ(sink.counters().rx_undated.value(), 10u);
    EXPECT_EQ(sink.latency().count(), 20u);
    EXPECT_EQ(sink.latency().min(), 8000u);
    EXPECT_EQ(sink.latency().max(), 8000u);
}

TEST_F(TrafficTasks, SinkMeasuresNothingWhileTheClockIsUnknown) {
    auto arrivals = free_field();
    const SharedConversion clock;
    arrivals.clock = &clock;
    auto sender = generator({.run = 5, .burst = 8, .frames = 8});
    sender.poll();
    for (auto& frame : device.sent) frame->ol_flags |= arrivals.flag;
    loop();
    Sink sink(device, 0, {.run = 5, .latency = true, .arrivals = arrivals});
    sink.poll();
    EXPECT_EQ(sink.counters().rx_undated.value(), 8u);
    EXPECT_EQ(sink.latency().count(), 0u);
}

TEST_F(TrafficTasks, SinkTellsRunsApart) {
    for (const std::uint8_t run : {7, 8}) {
        auto sender = generator({.run = run, .burst = 4, .frames = 4});
        sender.poll();
    }
    device.receive(test::pattern(100));
    loop();
    Sink any(device, 0, {});
    any.poll();
    EXPECT_EQ(any.counters().rx_packets.value(), 9u);
    EXPECT_EQ(any.counters().rx_stamped.value(), 4u);
    EXPECT_EQ(any.counters().rx_other_run.value(), 4u);
    EXPECT_EQ(any.counters().rx_without_stamp.value(), 1u);
    EXPECT_EQ(any.counters().rx_bytes.value(), 2u * 2 * (64 + 1518) + 104);
}

TEST_F(TrafficTasks, ForwarderPassesFramesOn) {
    FakeNetDevice to;
    const auto bytes = test::pattern(60);
    device.receive(bytes);
    Forwarder forwarder(device, to, 0, Rewrite::none, 32);
    EXPECT_TRUE(forwarder.poll());
    ASSERT_EQ(to.sent.size(), 1u);
    EXPECT_EQ(test::bytes_of(to.sent[0]), bytes);
    EXPECT_EQ(forwarder.counters().tx_packets.value(), 1u);
    EXPECT_FALSE(forwarder.poll());
    EXPECT_EQ(to.empty_bursts, 1u);
}

TEST_F(TrafficTasks, ForwarderSwapsMacs) {
    FakeNetDevice to;
    const auto bytes = test::pattern(60);
    device.receive(bytes), device.receive(test::pattern(13)), device.receive(bytes);
    Forwarder forwarder(device, to, 0, Rewrite::swap_macs, 32);
    forwarder.poll();
    ASSERT_EQ(to.sent.size(), 2u);
    auto swapped = bytes;
    std::swap_ranges(swapped.begin(), swapped.begin() + 6, swapped.begin() + 6);
    EXPECT_EQ(test::bytes_of(to.sent[0]), swapped);
    EXPECT_EQ(test::bytes_of(to.sent[1]), swapped);
    EXPECT_EQ(forwarder.counters().rx_dropped_short.value(), 1u);
}

TEST_F(TrafficTasks, ForwarderCountsWhatTheDeviceDoesNotTake) {
    FakeNetDevice to;
    to.tx_room = 2;
    for (unsigned i = 0; i < 5; ++i) device.receive(test::pattern(60));
    Forwarder forwarder(device, to, 0, Rewrite::none, 32);
    forwarder.poll();
    EXPECT_EQ(forwarder.counters().tx_packets.value(), 2u);
    EXPECT_EQ(forwarder.counters().tx_dropped_full.value(), 3u);
}

TEST(Rate, CostsWhatItCounts) {
    const Rate frames{RateUnit::frames, 1000}, bits{RateUnit::frame_bits, 1e9}, line{RateUnit::line_bits, 1e9};
    EXPECT_EQ(frames.cost(64), 1u);
    EXPECT_EQ(bits.cost(64), 64u);
    EXPECT_EQ(line.cost(64), 84u);
    EXPECT_EQ(frames.pacer_rate(), 8000u);
    EXPECT_EQ(line.pacer_rate(), 1'000'000'000u);
    EXPECT_EQ(frames.frames(64), 1000);
    EXPECT_NEAR(line.frames(64), 1'488'095, 1);  // the line rate of gigabit Ethernet, known to all
    EXPECT_NEAR(bits.frames(64), 1'953'125, 1);
}

}  // namespace
}  // namespace verbline::traffic
