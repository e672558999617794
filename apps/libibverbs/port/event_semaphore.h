// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A descriptor that counts events for the program: an eventfd(2) with EFD_SEMAPHORE. O_NONBLOCK, poll and epoll need
/// no support from us.

#include <cstdint>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "apps/libibverbs/port/program_descriptor.h"
#include "pmd/base/event_descriptor.h"

namespace verbline::verbs {

/// Any thread may post and wait.
class EventSemaphore {
public:
    EventSemaphore() = default;
    /// Returns an empty object on failure, for example if no descriptors are left; errno is set.
    static EventSemaphore make() {
        EventSemaphore made;
        made.descriptor_ = ProgramDescriptor(FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)));
        return made;
    }

    explicit operator bool() const { return static_cast<bool>(descriptor_); }
    /// The program's number: readable while events are counted.
    int programs() const { return descriptor_.programs(); }
    /// False if the program has set O_NONBLOCK.
    bool blocks() const { return (fcntl(descriptor_.ours(), F_GETFL) & O_NONBLOCK) == 0; }

    /// Counts one event. Not a cancellation point.
    void post() const noexcept { EventDescriptor::signal(descriptor_.ours()); }
    /// Takes one event, and waits for it if the semaphore blocks. False, with errno set. A cancellation point.
    bool wait() const {
        std::uint64_t one = 0;
        return read(descriptor_.ours(), &one, sizeof one) == sizeof one;
    }

private:
    ProgramDescriptor descriptor_;
};

}  // namespace verbline::verbs
