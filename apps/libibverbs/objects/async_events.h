// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Asynchronous events of one context: from the shard to ibv_get_async_event, and back by ibv_ack_async_event.
///
/// Destroying an object waits until every event that names it and was read has been acknowledged; what was not read is
/// forgotten (ibv_get_async_event(3)).

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>

#include <infiniband/verbs.h>

#include "apps/libibverbs/port/program_descriptor.h"

namespace verbline::verbs {

class AsyncEvents {
public:
    /// `descriptor`: an eventfd that counts (EFD_SEMAPHORE); what the program polls.
    explicit AsyncEvents(ProgramDescriptor descriptor) : descriptor_(std::move(descriptor)) {}

    int descriptor() const { return descriptor_.programs(); }

    /// Any thread; does not block.
    void push(const ibv_async_event& event);
    /// Blocks, unless the descriptor is O_NONBLOCK. 0, or -1 and errno.
    int get(ibv_async_event& event);
    void acknowledge(const ibv_async_event& event);
    /// The context is closed: its descriptor goes, and nobody is told of anything any more.
    void close();
    /// Before an object is destroyed: `element` is its ibv_cq *, ibv_qp *, ... Blocks until all is acknowledged.
    void forget(const void* element);

private:
    ProgramDescriptor descriptor_;
    std::mutex mutex_;
    std::condition_variable acknowledged_;
    std::deque<ibv_async_event> waiting_;
    std::unordered_map<const void*, unsigned> read_;  ///< not yet acknowledged, by element
};

}  // namespace verbline::verbs
