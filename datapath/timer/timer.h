// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A timer, to be a base or a member of what it wakes, and the list in which a wheel keeps those of one slot.
///
/// A timer in a list knows its neighbours and nothing else: it can leave without the wheel, and does so when destroyed.

#include "pmd/base/time.h"

namespace verbline::timer {

/// One of a ring; alone it is in none.
struct TimerLink {
    TimerLink* next = nullptr;
    TimerLink* previous = nullptr;
};

/// Stays where it is: neither copied nor moved.
class Timer : private TimerLink {
public:
    Timer() = default;
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    ~Timer() { cancel(); }

    bool armed() const { return next != nullptr; }
    /// As it was last armed for.
    Time deadline() const { return deadline_; }

    /// Nothing happens to one that is not armed.
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

/// First in, first out. Timers left when the list goes are no longer armed.
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

    /// All of `other`, behind those that are here.
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
