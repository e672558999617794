// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/readiness.h"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace verbline::verbs {
namespace {

constexpr Time look_interval = millisecond;

}  // namespace

Result<std::unique_ptr<Readiness>> Readiness::open(int flags, const char* what) {
    // Not an EventSemaphore: a read takes all signals, and the program's flags apply from the start.
    FileDescriptor ours(eventfd(0, EFD_CLOEXEC | ((flags & O_NONBLOCK) != 0 ? EFD_NONBLOCK : 0)));
    ProgramDescriptor event(std::move(ours), (flags & O_CLOEXEC) != 0);
    if (!event) return failure(errno, std::string("no descriptor for ") + what);
    return std::unique_ptr<Readiness>(new Readiness(std::move(event)));
}

void Readiness::signal() {
    const std::uint64_t one = 1;
    if (::write(event_.ours(), &one, sizeof one) == sizeof one) ++signals_;
}

/// Must not block: a waiting thread may have read the eventfd first.
void Readiness::drain() {
    std::uint64_t count = 0;
    const iovec into{.iov_base = &count, .iov_len = sizeof count};
    if (preadv2(event_.ours(), &into, 1, -1, RWF_NOWAIT) == sizeof count) signals_ -= count;
}

int Readiness::wait() {
    std::uint64_t count = 0;
    if (::read(event_.ours(), &count, sizeof count) != sizeof count) return errno;
    const std::scoped_lock lock(mutex_);
    signals_ -= count;
    return 0;
}

bool Readiness::intact(Time now) {
    if (now < intact_until_.load(std::memory_order_relaxed)) return true;
    if (!intact()) return false;
    intact_until_.store(now + look_interval, std::memory_order_relaxed);
    return true;
}

}  // namespace verbline::verbs
