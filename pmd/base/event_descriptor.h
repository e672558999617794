// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An eventfd(2) by which one thread wakes another that sleeps in poll(2) or epoll(7).
///
/// Signals accumulate until they are drained: drain first, then check for work, so that anything arriving in between
/// signals again.

#include <cerrno>
#include <cstdint>

#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pmd/base/file_descriptor.h"

namespace verbline {

/// Any thread may signal and drain. Not for descriptors that are exposed to the application: those count events, and
/// the application decides whether they block.
class EventDescriptor {
public:
    EventDescriptor() = default;
    /// Returns an empty object on failure, for example if no descriptors are left; errno is set.
    static EventDescriptor make() noexcept {
        EventDescriptor made;
        made.descriptor_ = FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        return made;
    }

    explicit operator bool() const { return static_cast<bool>(descriptor_); }
    /// The descriptor: readable from a signal until `drain`.
    int get() const { return descriptor_.get(); }

    /// Never blocks: a full counter is readable already.
    void signal() const noexcept { signal(get()); }
    /// The same for any eventfd; blocks if it is full and not O_NONBLOCK. Not a cancellation point (pthreads(7)), and
    /// independent of the symbol `write`, which the application may interpose.
    static void signal(int descriptor) noexcept {
        constexpr std::uint64_t one = 1;
        while (syscall(SYS_write, descriptor, &one, sizeof one) < 0 && errno == EINTR) {}
    }
    /// Clears all signals. Returns whether there was one.
    bool drain() const noexcept {
        eventfd_t signals = 0;
        return eventfd_read(get(), &signals) == 0;
    }

private:
    FileDescriptor descriptor_;
};

}  // namespace verbline
