// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A hierarchical timing wheel: any number of timers, each armed, moved and cancelled in constant time.
///
/// A reliable connection moves its retransmission timer with every acknowledgement, and hardly ever lets it fire:
/// moving must cost a few nanoseconds and no memory. Timers are therefore links of their owners, and a wheel is lists
/// of them.
///
///     level 0   256 slots of 1 tick (1.024 us)       fires
///     level 1   256 slots of 256 ticks (262 us)      when such a slot begins, its timers move down
///     level 2   256 slots of 65536 ticks (67 ms)     "
///     level 3   256 slots of 2^24 ticks (17 s)       "; deadlines over 73 minutes ahead are placed again
///
/// Time: nanoseconds of the caller's clock, from any origin; it may stand still and jump forward, but must not go back.
/// A timer never fires before its deadline, and at most one tick after it if `advance` is called continuously.
///
/// Threads: one, for a wheel and all its timers. Nothing allocates, throws or reads a clock.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "datapath/timer/timer.h"
#include "pmd/base/time.h"

namespace verbline::timer {

class Wheel {
public:
    static constexpr unsigned tick_shift = 10;
    static constexpr Time tick = Time{1} << tick_shift;

    explicit Wheel(Time start) : position_(start >> tick_shift) {}
    Wheel(const Wheel&) = delete;
    Wheel& operator=(const Wheel&) = delete;

    /// Sets the timer, or moves it if it is set. One whose deadline has passed fires in the next `advance`.
    void arm(Timer& timer, Time deadline) noexcept {
        timer.cancel();
        timer.deadline_ = deadline;
        place(timer);
    }

    /// Calls `fire(Timer&)` for each timer that is due, earlier ticks first and equal ones in no promised order.
    ///
    /// The timer is disarmed before the call, and not accessed after it: `fire` may arm or destroy it, and arm, cancel
    /// or destroy any other, including those about to fire. Timers armed during an advance fire in a later one,
    /// whatever their deadline, so that every `advance` terminates. `fire` must not call `advance`.
    template <class Fire>
    void advance(Time now, Fire&& fire) {
        const Tick until = now >> tick_shift;
        if (until < next_) [[likely]] {
            position_ = std::max(position_, until);
            return;
        }
        collect(until);
        TimerList firing;
        firing.take(due_);
        while (auto* const timer = firing.pop_front()) fire(*timer);
    }

    /// The next time at which `advance` has work; none if no timer is armed. A lower bound: nothing fires before it.
    /// For a timer less than 256 ticks ahead it is the time at which it fires; for a later one, the time at which its
    /// slot begins, so that it is reached in at most `levels` rounds of "sleep, advance, query" (beyond 73 minutes:
    /// that many for each 73 minutes). If it is not later than now, call `advance` at once.
    std::optional<Time> next_deadline() noexcept;

private:
    using Tick = std::int64_t;

    static constexpr unsigned slot_bits = 8, levels = 4;
    static constexpr std::size_t slots = 1u << slot_bits;
    static constexpr Tick horizon = (Tick{1} << slot_bits * levels) - 1;  ///< the farthest distance that has a slot, in
                                                                          ///< ticks
    static constexpr Tick never = std::numeric_limits<Tick>::max();

    struct Level {
        std::array<TimerList, slots> slot;
        /// A bit for each slot with timers; also set if they were cancelled since the slot was last visited.
        std::array<std::uint64_t, slots / 64> occupied{};
    };

    static std::size_t index(Tick at, unsigned level) {
        return static_cast<std::size_t>(at >> slot_bits * level) % slots;
    }

    void place(Timer& timer) noexcept {
        // Rounded up, so that nothing is early.
        Tick at = (timer.deadline_ >> tick_shift) + (timer.deadline_ % tick != 0);
        if (at <= position_) {
            due_.push_back(timer);
            next_ = position_;
            return;
        }
        const Tick ahead = std::min(at - position_, horizon);
        at = position_ + ahead;
        const auto level = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(ahead)) - 1) / slot_bits;
        const auto i = index(at, level);
        levels_[level].slot[i].push_back(timer);
        levels_[level].occupied[i / 64] |= std::uint64_t{1} << i % 64;
        next_ = std::min(next_, at >> slot_bits * level << slot_bits * level);
    }

    void collect(Tick until) noexcept;
    void move_down(unsigned level) noexcept;
    Tick earliest() noexcept;
    Tick earliest(unsigned level) noexcept;

    Tick position_;      ///< all ticks up to and including this one are done
    Tick next_ = never;  ///< no work before this tick; may be too early, never too late
    TimerList due_;      ///< armed with a deadline in the past, or collected
    std::array<Level, levels> levels_;
};

}  // namespace verbline::timer
