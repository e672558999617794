// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/objects/completion_channel.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sched.h>

#include "apps/libibverbs/objects/completion_queue.h"
#include "pmd/base/clock.h"
#include "pmd/base/tunables.h"

namespace verbline::verbs {
namespace {

/// How long a stale event is held back.
constexpr Time stale_limit = 10 * millisecond;

}  // namespace

CompletionChannel::CompletionChannel(Context& context, EventSemaphore unread)
    : hold_(context), unread_(std::move(unread)) {
    handle_ = {{.context = context.abi(), .fd = unread_.programs(), .refcnt = 0}, this};
}

Result<CompletionChannel*> CompletionChannel::create(Context& context) {
    auto unread = EventSemaphore::make();
    if (!unread) return failure(errno, "no descriptor for a completion channel");
    return new CompletionChannel(context, std::move(unread));
}

void CompletionChannel::push(CompletionQueue& queue) {
    {
        const std::scoped_lock lock(mutex_);
        waiting_.push_back(&queue);
        count_.store(waiting_.size(), std::memory_order_relaxed);
    }
    unread_.post();
}

CompletionQueue* CompletionChannel::get() {
    auto& progress = Context::of(handle_.abi.context).progress();
    const auto until = monotonic_now() + tunables::poll_before_sleep;
    while (count_.load(std::memory_order_relaxed) == 0 && monotonic_now() < until) progress.drive();
    if (count_.load(std::memory_order_relaxed) == 0) progress.leave();
    for (;;) {
        if (!unread_.wait()) return nullptr;
        auto* const queue = pop();
        if (queue == nullptr) continue;  // of a destroyed queue
        await_completion(*queue);
        return queue;
    }
}

CompletionQueue* CompletionChannel::pop() {
    const std::scoped_lock lock(mutex_);
    if (waiting_.empty()) return nullptr;
    auto* const queue = waiting_.front();
    waiting_.pop_front();
    count_.store(waiting_.size(), std::memory_order_relaxed);
    queue->event_read();
    return queue;
}

void CompletionChannel::await_completion(CompletionQueue& queue) const {
    if (queue.has_completions() || !unread_.blocks()) return;
    auto& progress = Context::of(handle_.abi.context).progress();
    const auto began = monotonic_now();
    for (auto waited = Time{0}; !queue.has_completions() && waited < stale_limit; waited = monotonic_now() - began) {
        if (!progress.drive() && waited > tunables::poll_before_sleep) sched_yield();
    }
}

void CompletionChannel::forget(const CompletionQueue& queue) {
    const std::scoped_lock lock(mutex_);
    std::erase(waiting_, &queue);
    count_.store(waiting_.size(), std::memory_order_relaxed);
}

extern "C" {

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
    return made(
        [&] -> Result<CompletionChannel*> {
            auto& opened = Context::of(context);
            if (!opened.alive()) return failure(EIO, "the context is that of a parent process");
            return CompletionChannel::create(opened);
        },
        &CompletionChannel::abi);
}

int ibv_destroy_comp_channel(ibv_comp_channel* abi) {
    if (!Context::of(abi->context).alive()) return 0;
    auto& channel = CompletionChannel::of(abi);
    if (channel.users != 0) return EBUSY;
    delete &channel;
    return 0;
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
    // The descriptor is shared with the parent: a child must not take its events.
    if (!Context::of(channel->context).alive()) return errno = EIO, -1;
    auto* const queue = CompletionChannel::of(channel).get();
    if (queue == nullptr) return -1;
    *cq = queue->abi();
    *cq_context = queue->abi()->cq_context;
    return 0;
}

void ibv_ack_cq_events(ibv_cq* cq, unsigned count) {
    CompletionQueue::of(cq).acknowledge(count);
}

}  // extern "C"

}  // namespace verbline::verbs
