// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the devices that are answered in this process (rdma_cm, umad) have in common.

#include <cerrno>

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apps/libibverbs/port/hints.h"

namespace verbline::verbs {

/// As system calls return errors.
inline int fail_with(int code) noexcept {
    errno = code;
    return -1;
}

inline int fail_with(const Error& error) noexcept {
    hint(error);
    return fail_with(error.code);
}

/// Disables cancellation of the thread while it lives: system calls made inside may be cancellation points.
class Uncancelled {
public:
    Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    Uncancelled(const Uncancelled&) = delete;
    Uncancelled& operator=(const Uncancelled&) = delete;
    ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }

private:
    int before_ = 0;
};

/// Replaces the file at the number by one that answers reads and writes with EBADF (O_PATH), until the number is
/// closed. Async-signal-safe.
inline void bury(int descriptor) noexcept {
    const auto file = syscall(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC);
    if (file < 0) return;
    syscall(SYS_dup3, file, descriptor, O_CLOEXEC);
    syscall(SYS_close, file);
}

}  // namespace verbline::verbs
