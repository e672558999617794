// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// SIGSEGV and SIGBUS in the signal masks of a program in which the library copies.
///
/// A page that a program has unmapped under a registration is found by the fault (datapath/memory/guarded.h), and the
/// kernel ends a process that faults while the signal is blocked. So the two are never blocked in the kernel, and here
/// stands what the program believes.
///
/// A value of one thread's; no locks, no memory: for signal handlers.

#include <csignal>

namespace verbline::verbs {

class FaultMask {
public:
    /// Whether a mask has any of the two.
    static bool in(const sigset_t& set) { return sigismember(&set, SIGSEGV) == 1 || sigismember(&set, SIGBUS) == 1; }
    /// A mask as the kernel gets it.
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
    /// The kernel's mask becomes the one that the program has asked for.
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
