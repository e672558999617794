// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One opening of the rdma_cm device: what librdmacm calls an event channel.
///
/// The program's descriptor is an eventfd that is readable while events wait, so that poll, epoll, O_NONBLOCK and fcntl
/// do what they do with the kernel's device. It is written to when the first event comes and read when the last is
/// taken, and then only by `settle`, when the engine is free again: of a burst the program hears once, and whoever
/// wakes finds nobody in its way.
///
/// Threads: `wait`, `settle` and `intact` any; the rest by whoever holds the engine.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "apps/libibverbs/port/program_descriptor.h"
#include "control/rdmacm/event.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"

namespace verbline::verbs {

class Channel : public std::enable_shared_from_this<Channel> {
public:
    using OnEvent = std::function<void(const std::shared_ptr<Channel>&)>;
    /// `flags` of open(2). `on_event`: an event has come; see to it that `changed` and `settle` follow. EMFILE and the
    /// like.
    static Result<std::shared_ptr<Channel>> open(int flags, OnEvent on_event);
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;
    ~Channel() = default;

    int descriptor() const { return event_.programs(); }
    rdmacm::EventQueue& queue() { return queue_; }

    /// Until an event has come, unless the descriptor is O_NONBLOCK: 0, EAGAIN or EINTR. The event may be gone when one
    /// looks. Others who wait are told by the next `settle`. A cancellation point: pthread_cancel unwinds through it.
    int wait();
    /// The queue has got events or ids, or lost some.
    void changed() {
        events_.store(queue_.events.size(), std::memory_order_relaxed);
        has_ids_.store(queue_.ids != 0, std::memory_order_relaxed);
    }
    /// Whether closing it has consequences. Any thread.
    bool has_ids() const { return has_ids_.load(std::memory_order_relaxed); }
    /// Makes the descriptor readable if there are events, and only then.
    void settle();

    /// The program has closed it; whoever still has a command under way finds that.
    void close() { closed_ = true; }
    bool closed() const { return closed_; }
    /// In the child of a fork: nothing is behind it any more.
    void abandon() { abandoned_ = true; }
    bool abandoned() const { return abandoned_; }

    /// Whether a descriptor still is what it was when we gave it to the program: dup2 may have put another file there.
    bool intact() const { return event_.intact(); }
    /// The same, as of a millisecond ago at most: for every command, which must not take two system calls more. Any
    /// thread.
    bool intact(Time now);

    Channel* next_closing = nullptr;  ///< of those that RdmaCmDevice is to close

private:
    explicit Channel(ProgramDescriptor event) : event_(std::move(event)) { event_.disown(); }
    void signal();
    void quench();

    ProgramDescriptor event_;
    rdmacm::EventQueue queue_;
    std::atomic<std::size_t> events_{0};  ///< in the queue
    std::atomic<bool> has_ids_{false};    ///< the queue
    std::mutex signal_mutex_;             ///< of the next
    std::uint64_t signals_ = 0;           ///< written to the eventfd, and read by nobody who has said so
    bool closed_ = false, abandoned_ = false;
    std::atomic<Time> intact_until_{0};  ///< nobody looks again before
};

}  // namespace verbline::verbs
