// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A thread of ours in somebody else's program: it takes none of the program's signals. (SIGSEGV of a guarded copy is
/// raised in the thread that copies, and cannot be left to others.)

#include <system_error>
#include <thread>
#include <utility>

#include <signal.h>

#include "pmd/base/error.h"

namespace verbline::verbs {

class QuietThread : public std::jthread {
public:
    QuietThread() = default;

    /// EAGAIN: the user, or the container, may have no more threads.
    template <class Run>
    static Result<QuietThread> start(Run&& run) {
        const WithoutSignals without;
        try {
            return QuietThread(std::jthread(std::forward<Run>(run)));
        } catch (const std::system_error& error) {
            return failure(error.code().value(), "no thread can be started: " + error.code().message() +
                                                     "; raise the limit on processes (ulimit -u, pids.max)");
        }
    }

private:
    /// A new thread has its maker's mask.
    class WithoutSignals {
    public:
        WithoutSignals() {
            sigset_t all;
            sigfillset(&all);
            for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&all, fault);
            pthread_sigmask(SIG_SETMASK, &all, &before_);
        }
        WithoutSignals(const WithoutSignals&) = delete;
        WithoutSignals& operator=(const WithoutSignals&) = delete;
        ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

    private:
        sigset_t before_{};
    };

    explicit QuietThread(std::jthread thread) : std::jthread(std::move(thread)) {}
};

}  // namespace verbline::verbs
