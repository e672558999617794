// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// By an eventfd(2) a thread tells another, which sleeps in poll(2) or epoll(7), that there is something to look at.
///
/// Signals add up until they are drained: drain first, then look, so that what comes in between is another signal.

#include <cerrno>
#include <cstdint>

#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pmd/base/file_descriptor.h"

namespace verbline {

/// Any thread may signal and drain. Descriptors of which a program has a number are no such objects: they count, and
/// the program decides whether they block.
class EventDescriptor {
public:
    EventDescriptor() = default;
    /// None if the kernel refuses, as when no descriptors are left: errno says why.
    static EventDescriptor make() noexcept {
        EventDescriptor made;
        made.descriptor_ = FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        return made;
    }

    explicit operator bool() const { return static_cast<bool>(descriptor_); }
    /// Readable from a signal on until it is drained.
    int get() const { return descriptor_.get(); }

    /// Never blocks: a counter that is full has been readable all the time. No cancellation point (pthreads(7)), and
    /// not by the name write, which may be the program's that we are linked into.
    void signal() const noexcept {
        constexpr std::uint64_t one = 1;
        while (syscall(SYS_write, get(), &one, sizeof one) < 0 && errno == EINTR) {}
    }
    /// Whether there was a signal.
    bool drain() const noexcept {
        eventfd_t signals = 0;
        return eventfd_read(get(), &signals) == 0;
    }

private:
    FileDescriptor descriptor_;
};

}  // namespace verbline
