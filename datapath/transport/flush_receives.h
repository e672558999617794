// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Flushes the receive requests of a queue pair in the error state: its own complete as flushed; those of a shared
/// queue stay for other queue pairs (IBTA volume 1, 10.2.9.4).

#include "datapath/transport/poll_context.h"
#include "datapath/transport/queue_pair_context.h"

namespace verbline::transport {

inline void flush_receives(QueuePairContext& qp, PollContext& context) noexcept {
    if (!qp.receive_queue.exists()) return;
    while (const auto* const work = qp.receive_queue.take()) {
        // Give the request back first: the user may post again as soon as it sees the completion.
        const auto id = work->id;
        qp.receive_queue.give_back(*work);
        context.complete(*qp.receive_completions, [&](Completion& completion) {
            completion.id = id;
            completion.status = Status::flushed;
            completion.kind = CompletionKind::receive;
            completion.qpn = qp.qpn;
            completion.pkey_index = qp.pkey_index;
        });
    }
}

}  // namespace verbline::transport
