// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One opening of the rdma_cm device: what librdmacm calls an event channel.
///
/// The program's descriptor is an eventfd that counts the events waiting, so that poll, epoll, O_NONBLOCK and fcntl do
/// what they do with the kernel's device.
///
/// Threads: `wait` any; the rest by whoever holds the engine.

#include <atomic>
#include <cstddef>
#include <memory>

#include "control/rdmacm/event.h"
#include "pmd/error.h"
#include "pmd/file_descriptor.h"
#include "pmd/time.h"

namespace verbline::verbs {

class Channel {
public:
    /// `flags` of open(2). EMFILE and the like.
    static Result<std::shared_ptr<Channel>> open(int flags);
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;
    ~Channel() = default;

    int descriptor() const { return descriptor_; }
    rdmacm::EventQueue& queue() { return queue_; }

    /// Until an event has come, unless the descriptor is O_NONBLOCK: 0, EAGAIN or EINTR. The event may be gone when one
    /// looks. A cancellation point: pthread_cancel unwinds through it.
    int wait() const;
    /// Somebody has waited, and did not take the event.
    void put_back() const { signal(); }
    /// An event was taken for which somebody had waited.
    void taken() { --signalled_; }
    /// The queue may have lost events, or got some: counts as many.
    void settle();

    /// The program has closed it; whoever still has a command under way finds that.
    void close() { closed_ = true; }
    bool closed() const { return closed_; }
    /// In the child of a fork: nothing is behind it any more.
    void abandon() { abandoned_ = true; }
    bool abandoned() const { return abandoned_; }

    /// Whether a descriptor still is what it was when we gave it to the program: dup2 may have put another file there.
    bool intact() const;
    /// The same, as of a millisecond ago at most: for every command, which must not take two system calls more. Any
    /// thread.
    bool intact(Time now);

private:
    explicit Channel(FileDescriptor copy) : copy_(std::move(copy)) {}
    void signal() const;

    int descriptor_ = -1;  ///< the program's, who closes it
    FileDescriptor copy_;  ///< of it, ours
    rdmacm::EventQueue queue_;
    std::size_t signalled_ = 0;  ///< what the eventfd counts, and what those count for who have waited
    bool closed_ = false, abandoned_ = false;
    std::atomic<Time> intact_until_{0};  ///< nobody looks again before
};

}  // namespace verbline::verbs
