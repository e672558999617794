// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Sleeps until one of several devices has received packets (epoll).
///
/// Owned by the receiving thread. A device's descriptor is added each time it is armed, as it may have changed since;
/// edge-triggered, so that a former peer which still holds one can cause a wakeup but not a busy loop.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "pmd/base/file_descriptor.h"
#include "pmd/base/time.h"
#include "pmd/netdev.h"

namespace verbline::pmd {

class Wakeups {
public:
    Wakeups();

    /// Readable when `wait` would return at once; -1 if it could not be opened.
    int fd() const { return epoll_.get(); }

    /// Adds a descriptor of the caller's, until it is closed. False if the kernel has no memory for it.
    bool add(int fd, std::uint64_t tag);
    /// Arms the device's receive event. Poll the device once more before sleeping. False, with nothing armed, if it has
    /// no descriptor, or it cannot be added.
    bool want(NetDevice& device, std::uint16_t queue, std::uint64_t tag);

    /// Sleeps for at most `longest`; calls `woke` with the tag of each descriptor that fired.
    template <class Woke>
    void wait(Time longest, Woke woke) {
        std::array<std::uint64_t, max_burst> tags;
        for (const auto tag : std::span(tags).first(wait_for(longest, tags))) woke(tag);
    }

private:
    std::size_t wait_for(Time longest, std::span<std::uint64_t, max_burst> tags);

    FileDescriptor epoll_;
};

}  // namespace verbline::pmd
