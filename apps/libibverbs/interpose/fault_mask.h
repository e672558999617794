// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// SIGSEGV and SIGBUS in the signal masks of a program in which the library copies memory under a fault guard.
///
/// The library detects a page that a program has unmapped under a registration by the fault
/// (datapath/memory/guarded.h), and the kernel ends a process that faults while the signal is blocked. So the two are
/// never blocked in the kernel; this class records the mask that the program has set.
///
/// One per thread; neither locks nor allocates, so signal handlers may use it.

#include <csignal>

namespace verbline::verbs {

class FaultMask {
public:
    /// True if the mask contains either signal.
    static bool in(const sigset_t& set) { return sigismember(&set, SIGSEGV) == 1 || sigismember(&set, SIGBUS) == 1; }
    /// The mask to pass to the kernel.
    static sigset_t without(sigset_t set) {
        sigdelset(&set, SIGSEGV);
        sigdelset(&set, SIGBUS);
        return set;
    }

    bool empty() const { return !segv_ && !bus_; }
    /// The program has changed its mask: `how` and `set` of sigprocmask(2).
    void change(int how, const sigset_t& set) {
        change(segv_, how, sigismember(&set, SIGSEGV) == 1);
        change(bus_, how, sigismember(&set, SIGBUS) == 1);
    }
    /// Turns the kernel's mask into the one that the program has set.
    void add_to(sigset_t& set) const {
        if (segv_) sigaddset(&set, SIGSEGV);
        if (bus_) sigaddset(&set, SIGBUS);
    }

private:
    static void change(bool& blocked, int how, bool named) {
        if (how == SIG_SETMASK) blocked = named;
        if (how == SIG_BLOCK) blocked = blocked || named;
        if (how == SIG_UNBLOCK) blocked = blocked && !named;
    }

    bool segv_ = false, bus_ = false;
};

}  // namespace verbline::verbs
