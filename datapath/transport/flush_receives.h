// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Flushes the receive requests of a queue pair in the error state: its own complete as flushed; those of a shared
/// queue stay for other queue pairs (IBTA volume 1, 10.2.9.4).

#include "datapath/transport/channel.h"
#include "datapath/transport/poll_context.h"

namespace verbline::transport {

inline void flush_receives(Channel& channel, PollContext& context) noexcept {
    if (!channel.receive_queue.exists()) return;
    while (const auto* const work = channel.receive_queue.take()) {
        // Give the request back first: the user may post again as soon as it sees the completion.
        const auto id = work->id;
        channel.receive_queue.give_back(*work);
        context.complete(*channel.receive_completions, [&](Completion& completion) {
            completion.id = id;
            completion.status = Status::flushed;
            completion.kind = CompletionKind::receive;
            completion.qpn = channel.qpn;
            completion.pkey_index = channel.pkey_index;
        });
    }
}

}  // namespace verbline::transport
