// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a shard's thread does with its time: polls that find something, polls in vain, sleep.
///
///     begin_poll ── poll ── end_poll(busy)      begin_sleep ── wait or nap ── end_sleep
///
/// Belongs to the shard's thread; its counters may be read by any. Begin and end of a rest are recorded in the shard's
/// trace: a rest is a number of sleeps between which nothing was found.

#include <cstdint>
#include <utility>

#include "pmd/base/counter.h"
#include "pmd/shard/cycle_meter.h"
#include "pmd/trace/trace_ring.h"

namespace verbline::pmd {

/// The cycles are of the time stamp counter; together they are the time since the first poll.
#define VERBLINE_POLL_COUNTERS(X)                                           \
    X(polls_busy, "polls that found something to do")                       \
    X(polls_idle, "polls that found nothing")                               \
    X(waits, "times that it waited for packets and commands")               \
    X(busy_cycles, "cycles of polls that found something to do")            \
    X(idle_cycles, "cycles of polls that found nothing, and between polls") \
    X(asleep_cycles, "cycles that it waited, or napped where a device must be polled")

struct PollCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_POLL_COUNTERS)

    /// How many so far: the shard has not stopped as long as they grow.
    std::uint64_t polls() const { return polls_busy.value() + polls_idle.value(); }
};

class PollMeter {
public:
    explicit PollMeter(Trace trace = {}) : trace_(trace) {}

    /// While the thread is busy, one look at the time for each poll does.
    void begin_poll() noexcept {
        if (!busy_) cycles_.charge(counters_.idle_cycles);
    }
    void end_poll(bool busy) noexcept {
        busy_ = busy;
        if (busy && std::exchange(resting_, false)) trace_.record(TraceEvent::awake);
        (busy ? counters_.polls_busy : counters_.polls_idle).add();
        cycles_.charge(busy ? counters_.busy_cycles : counters_.idle_cycles);
    }
    /// `waits`: until something comes, and not for a while where a device must be polled.
    void begin_sleep(bool waits) noexcept {
        if (!std::exchange(resting_, true)) trace_.record(TraceEvent::resting);
        if (waits) counters_.waits.add();
        cycles_.charge(counters_.idle_cycles);
    }
    void end_sleep() noexcept { cycles_.charge(counters_.asleep_cycles); }

    /// What the last poll found.
    bool busy() const noexcept { return busy_; }
    const PollCounters& counters() const { return counters_; }

private:
    CycleMeter cycles_;
    PollCounters counters_;
    Trace trace_;
    bool busy_ = false;     ///< the last poll was
    bool resting_ = false;  ///< has slept since it was
};

}  // namespace verbline::pmd
