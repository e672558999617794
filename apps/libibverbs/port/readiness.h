// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The program's descriptor of a device that is answered in this process: an eventfd that is readable while there is
/// something to read, so that poll, epoll, O_NONBLOCK and fcntl work as with the kernel's device.
///
/// Threads: any.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "apps/libibverbs/port/program_descriptor.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"

namespace verbline::verbs {

class Readiness {
public:
    /// `flags` as of open(2); `what` names the device in errors. EMFILE, ENFILE, ENOMEM.
    static Result<std::unique_ptr<Readiness>> open(int flags, const char* what);
    Readiness(const Readiness&) = delete;
    Readiness& operator=(const Readiness&) = delete;

    int descriptor() const { return event_.programs(); }
    /// Blocks until the descriptor is readable, unless it is O_NONBLOCK. Returns 0, EAGAIN or EINTR. Another thread may
    /// take what there is first; the next `settle` signals the other waiters. A cancellation point: pthread_cancel
    /// unwinds through it.
    int wait();
    /// Makes the descriptor readable or not. Call after every change; the last call's answer stays.
    template <class Ready>
    void settle(Ready ready) {
        const std::scoped_lock lock(mutex_);
        const bool readable = ready();
        if (readable == (signals_ != 0)) return;
        readable ? signal() : drain();
    }

    /// True if the program's descriptor still refers to our eventfd: dup2 may have put another file there.
    bool intact() const { return event_.intact(); }
    /// Like `intact`, but the answer may be a millisecond old, which saves each command two system calls.
    bool intact(Time now);

private:
    explicit Readiness(ProgramDescriptor event) : event_(std::move(event)) { event_.disown(); }
    void signal();
    void drain();

    ProgramDescriptor event_;
    std::mutex mutex_;                   ///< of `signals_`
    std::uint64_t signals_ = 0;          ///< written to the eventfd and not known to be read
    std::atomic<Time> intact_until_{0};  ///< the last check is valid until then
};

}  // namespace verbline::verbs
