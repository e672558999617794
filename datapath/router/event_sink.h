// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The shard's end of the event ring. The control thread sleeps in epoll and is woken at most once per poll, if that
/// emitted events.

#include "datapath/router/messages.h"
#include "datapath/router/ring.h"
#include "pmd/base/counter.h"

namespace verbline::router {

class EventSink {
public:
    /// `wake` is an eventfd on which the control thread sleeps; not owned.
    EventSink(Ring<Event>& ring, int wake) : ring_(ring), wake_(wake) {}

    /// Queues an event. False, and counted, if the ring is full: an mbuf in the event then stays the caller's.
    bool emit(const Event& event) noexcept;
    /// Signals the eventfd if events were emitted. Call at the end of a poll.
    void wake_control() noexcept;

    Counter lost;  ///< events not emitted because the ring was full

private:
    Ring<Event>& ring_;
    int wake_;
    bool pending_ = false;
};

}  // namespace verbline::router
