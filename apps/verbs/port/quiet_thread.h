// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A thread of ours in somebody else's program: it takes none of the program's signals. (SIGSEGV of a guarded copy is
/// raised in the thread that copies, and cannot be left to others.)

#include <thread>
#include <utility>

#include <signal.h>

namespace verbline::verbs {

class QuietThread : public std::jthread {
public:
    QuietThread() = default;
    template <class Run>
    explicit QuietThread(Run&& run) : std::jthread(start(std::forward<Run>(run))) {}

private:
    template <class Run>
    static std::jthread start(Run&& run) {
        sigset_t all, before;
        sigfillset(&all);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&all, fault);
        pthread_sigmask(SIG_SETMASK, &all, &before);  // a new thread has its maker's mask
        std::jthread thread(std::forward<Run>(run));
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return thread;
    }
};

}  // namespace verbline::verbs
