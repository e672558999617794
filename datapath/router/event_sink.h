// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The shard's end of the event ring. The control thread sleeps in epoll and is woken at most once per poll, if that
/// emitted events.
///
/// To wake it is a system call, and to a virtual CPU an interrupt. So that a storm of ARP does not take a shard's time,
/// a busy shard has TokenBucket's default of such calls, 1,000 a second after the first 50; what it emits when these
/// are spent waits for the next, unless the ring is a quarter full.

#include "datapath/router/messages.h"
#include "datapath/router/ring.h"
#include "pmd/base/counter.h"
#include "pmd/base/event_descriptor.h"
#include "pmd/base/token_bucket.h"
#include "pmd/trace/trace_ring.h"

namespace verbline::router {

class EventSink {
public:
    /// The control thread sleeps on `wake`; null: it looks by itself.
    EventSink(Ring<Event>& ring, const EventDescriptor* wake, pmd::Trace trace = {})
        : ring_(ring), wake_(wake), trace_(trace) {}

    /// Queues an event. False, and counted, if the ring is full: an mbuf in the event then stays the caller's.
    bool emit(const Event& event) noexcept;
    /// Wakes the control thread if events were emitted. Call at the end of a poll; `busy`: it had work to do, so that
    /// the next one follows at once.
    void wake_control(bool busy, Time now) noexcept;

    Counter lost;     ///< events not emitted because the ring was full
    Counter punted;   ///< packets in events that were emitted
    Counter dropped;  ///< packets in events that were not: the caller frees them

private:
    Ring<Event>& ring_;
    const EventDescriptor* wake_;
    pmd::Trace trace_;
    TokenBucket wakes_;
    bool pending_ = false;
};

}  // namespace verbline::router
