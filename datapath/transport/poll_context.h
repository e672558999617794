// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Context of one poll, passed to every state machine call: the time, and where output goes. Callees keep no references
/// to it beyond the call.

#include <vector>

#include "datapath/memory/key_table.h"
#include "datapath/timer/wheel.h"
#include "datapath/transport/async_event.h"
#include "datapath/transport/completion_queue.h"
#include "datapath/transport/counters.h"
#include "datapath/transport/flight.h"
#include "datapath/transport/reorder.h"
#include "datapath/transport/resend_set.h"
#include "datapath/transport/tx_stage.h"
#include "pmd/base/time.h"

namespace verbline::transport {

struct PollContext {
    Time now = 0;
    unsigned shard = 0;
    TxStage& tx_stage;
    memory::KeyTable& keys;
    timer::Wheel& wheel;
    RdmaCounters& counters;
    ReorderPool& reorder;
    ResendPool& resend;
    const AsyncEventHandler& on_event;
    Flight flight{};
    std::vector<CompletionQueue*> touched{};  ///< completion queues to notify at the end of the poll

    /// Pushes a completion, which `fill(Completion&)` writes in place: a copy would cost a stall. An overrun is
    /// counted, and reported once as cq_error.
    template <class Fill>
    void complete(CompletionQueue& queue, Fill&& fill) noexcept {
        const bool overrun_before = queue.overrun();
        const bool pushed = queue.push(shard, [&](Completion& completion) {
            fill(completion);
            completion.time = now;
        });
        if (!pushed) [[unlikely]] {
            counters.cq_overruns.add();
            if (!overrun_before) emit({.kind = AsyncEventKind::cq_error, .cq = &queue});
        }
        if (queue.touch(shard)) touched.push_back(&queue);
    }
    void emit(const AsyncEvent& event) noexcept {
        if (on_event) on_event(event);
    }
};

}  // namespace verbline::transport
