// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Completion of send requests.

#include <utility>

#include "datapath/transport/poll_context.h"
#include "datapath/transport/queue_pair_context.h"

namespace verbline::transport {

constexpr CompletionKind completion_kind(SendOperation operation) {
    using enum SendOperation;
    switch (operation) {
        case send:
        case send_with_immediate:
        case send_with_invalidate: return CompletionKind::send;
        case write:
        case write_with_immediate: return CompletionKind::write;
        case read: return CompletionKind::read;
        case compare_swap: return CompletionKind::compare_swap;
        case fetch_add: return CompletionKind::fetch_add;
        case atomic_write: return CompletionKind::atomic_write;
        case flush: return CompletionKind::flush;
        case local_invalidate: return CompletionKind::local_invalidate;
        case bind_window: return CompletionKind::bind_window;
    }
    std::unreachable();
}

/// Pushes the completion of the oldest request and releases its slot; a successful unsignalled request produces none.
inline void complete_send(QueuePairContext& qp, const SendWork& work, PollContext& context, Status status) noexcept {
    if (status == Status::success && !qp.signal_all && !work.has(send_signalled)) return;
    context.complete(*qp.send_completions, [&](Completion& completion) {
        completion.id = work.id;
        completion.status = status;
        completion.kind = completion_kind(work.operation);
        completion.length = work.length;
        completion.qpn = qp.qpn;
        completion.pkey_index = qp.pkey_index;
        // The user, in another thread, may post again as soon as it sees the completion: `work` is invalid from here
        // on.
        qp.send_queue.release_oldest();
    });
}

}  // namespace verbline::transport
