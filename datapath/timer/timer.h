// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A timer, used as a base or member of its owner, and the list of the timers in one slot of a wheel.
///
/// A timer in a list links only to its neighbours: it is removed without access to the wheel, also on destruction.

#include "pmd/base/time.h"

namespace verbline::timer {

/// A link of a circular list; null links: not in a list.
struct TimerLink {
    TimerLink* next = nullptr;
    TimerLink* previous = nullptr;
};

/// Neither copyable nor movable, since lists point to it.
class Timer : private TimerLink {
public:
    Timer() = default;
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    ~Timer() { cancel(); }

    bool armed() const { return next != nullptr; }
    /// The deadline it was last armed with.
    Time deadline() const { return deadline_; }

    /// Does nothing if the timer is not armed.
    void cancel() noexcept {
        if (!armed()) return;
        next->previous = previous;
        previous->next = next;
        next = previous = nullptr;
    }

private:
    friend class TimerList;
    friend class Wheel;

    Time deadline_ = 0;
};
static_assert(sizeof(Timer) <= 32);

/// A FIFO of timers. Destruction disarms the timers left in it.
class TimerList {
public:
    TimerList() = default;
    TimerList(const TimerList&) = delete;
    TimerList& operator=(const TimerList&) = delete;
    ~TimerList() {
        while (pop_front() != nullptr) {}
    }

    bool empty() const { return ring_.next == &ring_; }

    void push_back(Timer& timer) noexcept {
        TimerLink& link = timer;
        link.next = &ring_;
        link.previous = ring_.previous;
        ring_.previous->next = &link;
        ring_.previous = &link;
    }

    Timer* pop_front() noexcept {
        if (empty()) return nullptr;
        auto* const timer = static_cast<Timer*>(ring_.next);
        timer->cancel();
        return timer;
    }

    /// Moves all timers of `other` to the end of this list.
    void take(TimerList& other) noexcept {
        if (other.empty()) return;
        other.ring_.next->previous = ring_.previous;
        ring_.previous->next = other.ring_.next;
        other.ring_.previous->next = &ring_;
        ring_.previous = other.ring_.previous;
        other.ring_.next = other.ring_.previous = &other.ring_;
    }

private:
    TimerLink ring_{&ring_, &ring_};
};

}  // namespace verbline::timer
