// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Descriptors that the library opens for itself inside a program that is not ours: sockets, eventfds, epoll instances.
/// A program may close descriptors that it did not open, as daemons do, and then open a file under the same number; the
/// library must not write into that file.
///
/// Everything linked into the library, DPDK included, gets its descriptors through own_descriptors.cc, which moves them
/// to high numbers, out of the program's range, and marks them. The interposed calls (interpose/descriptors.cc) refuse
/// to close or replace them. A direct system call does close them; the helper detects that within a fraction of a
/// second and declares the device dead (Progress). A number then belongs to the program: it counts as ours only while
/// the file behind it carries our mark. What we write to such a number before the helper has checked goes into the
/// program's file.
///
/// Threads: any, signal handlers included.

#include "apps/libibverbs/port/descriptor_set.h"

namespace verbline::verbs {

class OwnDescriptors {
public:
    /// Moves a new descriptor to a high number, marks it, and returns the new number. Negative values pass through,
    /// with errno unchanged.
    static int adopt(int descriptor) noexcept;
    /// Call before the library closes the descriptor.
    static void release(int descriptor) noexcept;

    /// True if the caller must not close it: it is ours, and the caller shares our table of descriptors.
    static bool guards(int descriptor) noexcept;
    /// True if it was ours, and the program has closed or replaced it by a direct system call.
    static bool is_lost(int descriptor) noexcept;
    /// The lowest descriptor of ours >= `from`; DescriptorSet::capacity if there is none.
    static int next(int from) noexcept;

    /// While it lives, EAL's heap may lie in a memfd, if this thread makes it: a child of a fork then shares it.
    class SharedHeap {
    public:
        explicit SharedHeap(bool shared) noexcept { allowed_ = shared; }
        ~SharedHeap() { allowed_ = false; }
        SharedHeap(const SharedHeap&) = delete;
        SharedHeap& operator=(const SharedHeap&) = delete;
        static bool allowed() noexcept { return allowed_; }

    private:
        static constinit thread_local bool allowed_;
    };

    /// In the child after fork: inherited descriptors are unused and may be closed.
    static void abandon() noexcept;

private:
    static bool is_in_place(int descriptor) noexcept;

    // Static: interposed calls have no object at hand.
    static constinit DescriptorSet marked_;
    static constinit DescriptorSet unmarkable_;  ///< members of `marked_` whose file could not be marked
};

}  // namespace verbline::verbs
