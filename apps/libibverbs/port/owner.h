// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Which process the library's state belongs to, and whether the caller runs in that one.
///
/// A child may have a copy of the state (fork, _Fork, clone), or run in the very memory of its parent (vfork, and
/// posix_spawn and clone with CLONE_VM). Fork handlers tell of the first of these and nothing of the others, so nobody
/// is to be trusted to say: the owner's process id is on a page that the kernel empties in every copy
/// (MADV_WIPEONFORK), and who runs in the owner's memory has another process id.
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
        copy,      ///< its state is its own to write, and nothing works behind it
        borrower,  ///< must not change anything
    };

    /// The caller's process owns the state from now on. Where the kernel cannot empty pages (before 4.14), only fork
    /// handlers tell copies. Not in a signal handler.
    static void claim() noexcept;

    /// Two loads: for the packet path, which no borrower may call.
    static bool in_copy() noexcept {
        const auto* const page = page_.load(std::memory_order_relaxed);
        return page != nullptr && page->load(std::memory_order_relaxed) == 0;
    }
    /// A system call.
    static Caller caller() noexcept {
        const auto owner = pid();
        if (owner == getpid()) return Caller::owner;
        const bool claimed = page_.load(std::memory_order_relaxed) != nullptr;
        return owner != 0 ? Caller::borrower : claimed ? Caller::copy : Caller::owner;
    }
    /// Of the owner; 0 in a copy, and while there is no state.
    static pid_t pid() noexcept {
        const auto* const page = page_.load(std::memory_order_relaxed);
        return page != nullptr ? page->load(std::memory_order_relaxed) : 0;
    }
    /// Whether the caller closes the owner's descriptors when it closes its own: the owner itself, or a borrower that
    /// was made with CLONE_FILES.
    static bool shares_descriptors() noexcept;

private:
    // What a signal handler or a child asks has no object to be asked of.
    static constinit std::atomic<std::atomic<pid_t>*> page_;
};

}  // namespace verbline::verbs
