// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/event_channel.h"

namespace verbline::verbs {

Result<std::shared_ptr<EventChannel>> EventChannel::open(int flags, OnEvent on_event) {
    auto readiness = Readiness::open(flags, "an event channel");
    if (!readiness) return std::unexpected(readiness.error());
    std::shared_ptr<EventChannel> channel(new EventChannel(std::move(*readiness)));
    channel->queue_.on_event = [raw = channel.get(), notify = std::move(on_event)] { notify(raw->shared_from_this()); };
    return channel;
}

/// Every change of the queue is followed by `settle`, so the last call leaves the descriptor in the right state. A
/// waiter that has read the eventfd but not yet said so makes no difference: it does so before a command of its own,
/// whose `settle` is then the last.
void EventChannel::settle() {
    readiness_->settle([this] { return events_.load(std::memory_order_relaxed) != 0; });
}

}  // namespace verbline::verbs
