// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Determines which process owns the library's state, and whether the caller runs in that process.
///
/// A child may have a copy of the state (fork, _Fork, clone) or run in its parent's memory (vfork, and posix_spawn and
/// clone with CLONE_VM). Fork handlers report the first of these only. So the owner's process id lies on a page that
/// the kernel zeroes in every copy (MADV_WIPEONFORK); a caller in the owner's memory has another process id.
///
/// Threads: any, signal handlers included.

#include <atomic>
#include <cstdint>

#include <sys/types.h>
#include <unistd.h>

namespace verbline::verbs {

class Owner {
public:
    enum class Caller : std::uint8_t {
        owner,     ///< also while there is no state yet
        copy,      ///< may write its copy of the state; no thread serves it
        borrower,  ///< runs in the owner's memory: must not change anything
    };

    /// Makes the caller's process the owner. Where the kernel cannot zero pages in copies (before 4.14), only fork
    /// handlers detect copies. Not async-signal-safe.
    static void claim() noexcept;

    /// True in a copy. Two loads, for the packet path; a borrower must not call it.
    static bool in_copy() noexcept {
        const auto* const page = page_.load(std::memory_order_relaxed);
        return page != nullptr && page->load(std::memory_order_relaxed) == 0;
    }
    /// Makes a system call.
    static Caller caller() noexcept {
        const auto owner = pid();
        if (owner == getpid()) return Caller::owner;
        const bool claimed = page_.load(std::memory_order_relaxed) != nullptr;
        return owner != 0 ? Caller::borrower : claimed ? Caller::copy : Caller::owner;
    }
    /// Process id of the owner; 0 in a copy, and while there is no state.
    static pid_t pid() noexcept {
        const auto* const page = page_.load(std::memory_order_relaxed);
        return page != nullptr ? page->load(std::memory_order_relaxed) : 0;
    }
    /// True if closing a descriptor of the caller closes the owner's: in the owner itself, and in a borrower made with
    /// CLONE_FILES.
    static bool shares_descriptors() noexcept;

private:
    // Static: signal handlers and children have no object at hand.
    static constinit std::atomic<std::atomic<pid_t>*> page_;
};

}  // namespace verbline::verbs
