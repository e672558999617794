// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The shard's end of the event ring. The control thread sleeps in epoll, so it is woken, once per poll that said
/// anything: events are rare, packets are not.

#include "datapath/router/messages.h"
#include "datapath/router/ring.h"
#include "pmd/base/counter.h"

namespace verbline::router {

class EventSink {
public:
    /// `wake` is an eventfd that the control thread watches; not owned.
    EventSink(Ring<Event>& ring, int wake) : ring_(ring), wake_(wake) {}

    /// False, and counted, if the ring is full: what is inside the event stays the caller's.
    bool emit(const Event& event) noexcept;
    /// Call at the end of a poll.
    void wake_control() noexcept;

    Counter lost;  ///< events not emitted because the ring was full

private:
    Ring<Event>& ring_;
    int wake_;
    bool pending_ = false;
};

}  // namespace verbline::router
