// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Asynchronous events of one context: from the shard to ibv_get_async_event, and back by ibv_ack_async_event.
///
/// Destroying an object waits until every event of it that was read has been acknowledged; unread events are discarded
/// (ibv_get_async_event(3)).

#include <condition_variable>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <infiniband/verbs.h>

#include "apps/libibverbs/port/event_semaphore.h"

namespace verbline::verbs {

class AsyncEvents {
public:
    /// The program polls `unread`.
    explicit AsyncEvents(EventSemaphore unread) : unread_(std::move(unread)) {}

    int descriptor() const { return unread_.programs(); }

    /// Any thread; does not block.
    void push(const ibv_async_event& event);
    /// Blocks, unless the descriptor is O_NONBLOCK. Returns 0, or -1 and errno.
    int get(ibv_async_event& event);
    void acknowledge(const ibv_async_event& event);
    /// The context is closed: closes its descriptor and drops later events.
    void close();
    /// Call before an object is destroyed; `element` is its ibv_cq *, ibv_qp *, ... Discards its unread events and
    /// blocks until the others are acknowledged.
    void forget(const void* element);

private:
    EventSemaphore unread_;
    std::mutex mutex_;
    std::condition_variable acknowledged_;
    std::deque<ibv_async_event> waiting_;
    std::unordered_map<const void*, unsigned> read_;  ///< not yet acknowledged, by element
};

}  // namespace verbline::verbs
