// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/event_channel.h"

#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

namespace verbline::verbs {
namespace {

constexpr Time look_interval = millisecond;

}  // namespace

Result<std::shared_ptr<EventChannel>> EventChannel::open(int flags, OnEvent on_event) {
    // Not an EventSemaphore: a read takes all signals, and the program's flags apply from the start.
    FileDescriptor ours(eventfd(0, EFD_CLOEXEC | ((flags & O_NONBLOCK) != 0 ? EFD_NONBLOCK : 0)));
    ProgramDescriptor event(std::move(ours), (flags & O_CLOEXEC) != 0);
    if (!event) return failure(errno, "no descriptor for an event channel");
    std::shared_ptr<EventChannel> channel(new EventChannel(std::move(event)));
    channel->queue_.on_event = [raw = channel.get(), notify = std::move(on_event)] { notify(raw->shared_from_this()); };
    return channel;
}

void EventChannel::signal() {
    const std::uint64_t one = 1;
    if (::write(event_.ours(), &one, sizeof one) == sizeof one) ++signals_;
}

/// Must not block: a waiting thread may have read the eventfd first.
void EventChannel::drain() {
    std::uint64_t count = 0;
    const iovec into{.iov_base = &count, .iov_len = sizeof count};
    if (preadv2(event_.ours(), &into, 1, -1, RWF_NOWAIT) == sizeof count) signals_ -= count;
}

int EventChannel::wait() {
    std::uint64_t count = 0;
    if (::read(event_.ours(), &count, sizeof count) != sizeof count) return errno;
    const std::scoped_lock lock(signal_mutex_);
    signals_ -= count;
    return 0;
}

/// Every change of the queue is followed by `settle`, so the last call leaves the descriptor in the right state. A
/// waiter that has read the eventfd but not yet updated `signals_` makes no difference: it does so before a command of
/// its own, whose `settle` is then the last.
void EventChannel::settle() {
    const std::scoped_lock lock(signal_mutex_);
    const bool events = events_.load(std::memory_order_relaxed) != 0;
    if (events == (signals_ != 0)) return;
    events ? signal() : drain();
}

bool EventChannel::intact(Time now) {
    if (now < intact_until_.load(std::memory_order_relaxed)) return true;
    if (!intact()) return false;
    intact_until_.store(now + look_interval, std::memory_order_relaxed);
    return true;
}

}  // namespace verbline::verbs
