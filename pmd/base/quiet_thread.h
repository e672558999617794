// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A thread with the program's signals blocked, which are for the program's own threads. (The synchronous
/// faults stay unblocked: SIGSEGV of a guarded copy is raised in the thread that copies.)

#include <system_error>
#include <thread>
#include <utility>

#include <signal.h>

#include "pmd/base/error.h"

namespace verbline {

class QuietThread : public std::jthread {
public:
    QuietThread() = default;

    /// Starts the thread. EAGAIN: the thread limit of the user or the container is reached.
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
    /// A new thread inherits the signal mask of its creator.
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

}  // namespace verbline
