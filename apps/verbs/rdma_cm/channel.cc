// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbs/rdma_cm/channel.h"

#include <cerrno>
#include <cstdint>
#include <tuple>

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace verbline::verbs {
namespace {

constexpr Time look_interval = millisecond;

}  // namespace

Result<std::shared_ptr<Channel>> Channel::open(int flags) {
    const int wanted = EFD_SEMAPHORE | ((flags & O_NONBLOCK) != 0 ? EFD_NONBLOCK : 0);
    FileDescriptor copy(eventfd(0, wanted | EFD_CLOEXEC));
    if (!copy) return failure(errno, "no descriptor for an event channel");
    std::shared_ptr<Channel> channel(new Channel(std::move(copy)));
    channel->descriptor_ =
        fcntl(channel->copy_.get(), (flags & O_CLOEXEC) != 0 ? F_DUPFD_CLOEXEC : F_DUPFD, /* from */ 0);
    if (channel->descriptor_ < 0) return failure(errno, "no descriptor for an event channel");
    channel->queue_.on_event = [raw = channel.get()] {
        ++raw->signalled_;
        raw->signal();
    };
    return channel;
}

void Channel::signal() const {
    const std::uint64_t one = 1;
    std::ignore = ::write(copy_.get(), &one, sizeof one);
}

int Channel::wait() const {
    std::uint64_t one = 0;
    return ::read(descriptor_, &one, sizeof one) == sizeof one ? 0 : errno;
}

void Channel::settle() {
    for (; signalled_ < queue_.events.size(); ++signalled_) signal();
    for (; signalled_ > queue_.events.size(); --signalled_) {
        // Must not block: somebody who waits may have been faster, and will find nothing.
        std::uint64_t one = 0;
        const iovec into{.iov_base = &one, .iov_len = sizeof one};
        std::ignore = preadv2(copy_.get(), &into, 1, -1, RWF_NOWAIT);
    }
}

bool Channel::intact() const {
    const auto self = getpid();
    // Negative: this kernel does not tell (CONFIG_KCMP, seccomp).
    return syscall(SYS_kcmp, self, self, KCMP_FILE, descriptor_, copy_.get()) <= 0;
}

bool Channel::intact(Time now) {
    if (now < intact_until_.load(std::memory_order_relaxed)) return true;
    if (!intact()) return false;
    intact_until_.store(now + look_interval, std::memory_order_relaxed);
    return true;
}

}  // namespace verbline::verbs
