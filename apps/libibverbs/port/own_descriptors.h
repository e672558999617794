// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Descriptors that the library has opened for itself inside of somebody else's program: sockets, eventfds, epoll
/// instances. A program that closes what it does not know, as daemons do, and then opens a file must not find our bytes
/// in there.
///
/// Everything linked into the library, DPDK included, comes by its descriptors through own_descriptors.cc, which moves
/// them to high numbers, where no file of the program will be, and marks them. The calls that the library stands in for
/// (interpose/descriptors.cc) then refuse to close them or to put another file in their place. What goes past the C
/// library does close them; the helper finds that within a fraction of a second, and the device is dead (Progress).
/// Their numbers are the program's then: a descriptor is ours while its file is one that we have marked, too. What we
/// write to such a number before the helper has looked goes into the program's file.
///
/// Threads: any, signal handlers included.

#include "apps/libibverbs/port/descriptor_set.h"

namespace verbline::verbs {

class OwnDescriptors {
public:
    /// Moves a new descriptor out of the program's way, and marks it. Returns its new number; negative ones, and
    /// errno, are left alone.
    static int adopt(int descriptor) noexcept;
    /// It is about to be closed by us.
    static void release(int descriptor) noexcept;

    /// Whether the caller must be kept from closing it: it is ours, and the caller shares the table of descriptors.
    static bool guards(int descriptor) noexcept;
    /// Whether it was ours, and the program has closed it past the C library, or put another file there.
    static bool is_lost(int descriptor) noexcept;
    /// The first from `from` on that is ours; DescriptorSet::capacity: none.
    static int next(int from) noexcept;

    /// In the child of a fork: what it inherits is not used, and may be closed.
    static void abandon() noexcept;

private:
    static bool is_in_place(int descriptor) noexcept;

    // Of calls that have no object to be asked of.
    static constinit DescriptorSet marked_;
    static constinit DescriptorSet unmarkable_;  ///< those of them whose file the kernel let us put no mark on
};

}  // namespace verbline::verbs
