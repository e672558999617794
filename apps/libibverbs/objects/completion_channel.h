// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A completion channel: the descriptor that a program sleeps on, and the queues with pending events.
///
/// The descriptor counts one for each event. An unread event of a destroyed queue is taken off the list; its count
/// stays, and a read of it finds the list empty.
///
/// A completion that arrives between arming and polling is taken by the poll, and its event is stale. Verbs allow that;
/// it also happens with HCAs, but rarely, as they are slower. Some programs sleep for an event and treat a missing
/// completion as an error (ibv_rc_pingpong -e -t). So a stale event is held back for a moment, for a completion to go
/// with it.

#include <atomic>
#include <deque>
#include <mutex>

#include <infiniband/verbs.h>

#include "apps/libibverbs/objects/abi_handle.h"
#include "apps/libibverbs/objects/context.h"
#include "apps/libibverbs/port/event_semaphore.h"

namespace verbline::verbs {

class CompletionQueue;

class CompletionChannel {
public:
    static Result<CompletionChannel*> create(Context& context);
    static CompletionChannel& of(ibv_comp_channel* channel) {
        return AbiHandle<ibv_comp_channel, CompletionChannel>::object_of(channel);
    }
    ibv_comp_channel* abi() { return &handle_.abi; }

    /// Runs on the thread that polls.
    void push(CompletionQueue& queue);
    /// Blocks, unless the descriptor is O_NONBLOCK. Returns the queue of the next event, or null and errno.
    CompletionQueue* get();
    void forget(const CompletionQueue& queue);

    std::atomic<unsigned> users{0};  ///< queues

private:
    CompletionChannel(Context& context, EventSemaphore unread);
    CompletionQueue* pop();
    void await_completion(CompletionQueue& queue) const;

    Context::Hold hold_;
    AbiHandle<ibv_comp_channel, CompletionChannel> handle_;
    EventSemaphore unread_;
    std::mutex mutex_;
    std::deque<CompletionQueue*> waiting_;
    std::atomic<std::size_t> count_{0};  ///< of `waiting_`
};

}  // namespace verbline::verbs
