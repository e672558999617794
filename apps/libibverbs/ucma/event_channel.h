// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One open file of the rdma_cm device: what librdmacm calls an event channel.
///
/// The program's descriptor is an eventfd that is readable while events are queued, so that poll, epoll, O_NONBLOCK and
/// fcntl work as with the kernel's device. Only `settle` writes and clears it, after the engine's mutex has been
/// released: a burst of events wakes the program once, and the woken thread does not contend for the engine.
///
/// Threads: any for `wait`, `settle`, `has_ids` and `intact`; the rest requires the engine's mutex.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "apps/libibverbs/port/readiness.h"
#include "control/rdmacm/event.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"

namespace verbline::verbs {

class EventChannel : public std::enable_shared_from_this<EventChannel> {
public:
    using OnEvent = std::function<void(const std::shared_ptr<EventChannel>&)>;
    /// `flags` as of open(2). `on_event` is called when an event has been queued, and must ensure that `changed` and
    /// `settle` follow. EMFILE, ENFILE, ENOMEM.
    static Result<std::shared_ptr<EventChannel>> open(int flags, OnEvent on_event);
    EventChannel(const EventChannel&) = delete;
    EventChannel& operator=(const EventChannel&) = delete;
    ~EventChannel() = default;

    int descriptor() const { return readiness_->descriptor(); }
    rdmacm::EventQueue& queue() { return queue_; }

    /// Blocks until an event is queued, unless the descriptor is O_NONBLOCK. Returns 0, EAGAIN or EINTR. Another thread
    /// may take the event first; the next `settle` signals the other waiters. A cancellation point: pthread_cancel
    /// unwinds through it.
    int wait() { return readiness_->wait(); }
    /// Publishes whether the queue has events and ids. Call after every change of the queue.
    void changed() {
        events_.store(queue_.events.size(), std::memory_order_relaxed);
        has_ids_.store(queue_.ids != 0, std::memory_order_relaxed);
    }
    /// True if closing the channel has ids to destroy. Any thread.
    bool has_ids() const { return has_ids_.load(std::memory_order_relaxed); }
    /// Makes the descriptor readable if events are queued, and unreadable otherwise.
    void settle();

    /// The program has closed the channel: commands still under way check `closed`.
    void close() { closed_ = true; }
    bool closed() const { return closed_; }
    /// In the child after fork: no engine serves the channel.
    void abandon() { abandoned_ = true; }
    bool abandoned() const { return abandoned_; }

    /// True if the program's descriptor still refers to our eventfd: dup2 may have put another file there.
    bool intact() const { return readiness_->intact(); }
    /// Like `intact`, but the answer may be a millisecond old, which saves each command two system calls. Any thread.
    bool intact(Time now) { return readiness_->intact(now); }

    EventChannel* next_closing = nullptr;  ///< list of those that RdmaCmDevice is to close

private:
    explicit EventChannel(std::unique_ptr<Readiness> readiness) : readiness_(std::move(readiness)) {}

    const std::unique_ptr<Readiness> readiness_;
    rdmacm::EventQueue queue_;
    std::atomic<std::size_t> events_{0};  ///< in the queue
    std::atomic<bool> has_ids_{false};    ///< the queue
    bool closed_ = false, abandoned_ = false;
};

}  // namespace verbline::verbs
