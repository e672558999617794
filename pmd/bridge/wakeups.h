// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Sleeping until one of several devices has received something.
///
/// Belongs to the thread that receives. A device's descriptor is added each time that it is wanted, as it may be
/// another one by then; edge-triggered, so that one which a former peer still holds can wake us but not keep us awake.

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

    /// Readable when `wait` would return at once; -1: the system is out of descriptors.
    int fd() const { return epoll_.get(); }

    /// A descriptor of the caller's own, for as long as it is open. False: the system has no memory for it.
    bool add(int fd, std::uint64_t tag);
    /// From now on an arrival wakes us. Look at the device once more before sleeping. False: it has no
    /// such descriptor, or it cannot be waited for.
    bool want(NetDevice& device, std::uint16_t queue, std::uint64_t tag);

    /// Calls `woke` with the tag of each that fired.
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
