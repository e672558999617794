// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/memif/notifier.h"

#include <array>
#include <cerrno>
#include <ctime>
#include <string_view>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

namespace verbline::pmd::memif {
namespace {

constexpr unsigned events = 256;  ///< completions that may lie there before they are taken out

}  // namespace

bool is_eventfd(int fd) {
    constexpr std::string_view wanted = "anon_inode:[eventfd]";  // no path of a file begins like this
    std::array<char, wanted.size() + 1> name;
    const auto size = readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), name.data(), name.size());
    return size >= 0 && std::string_view(name.data(), static_cast<std::size_t>(size)) == wanted;
}

Notifier::Notifier() : always_ready_(EventDescriptor::make()) {
    if (!always_ready_ || syscall(SYS_io_setup, events, &context_) != 0) {
        context_ = 0;
        return;
    }
    const auto trial = EventDescriptor::make();
    if (submit(trial.get()) && trial.drain()) return;
    syscall(SYS_io_destroy, context_);
    context_ = 0;
}

Notifier::~Notifier() {
    if (context_ != 0) syscall(SYS_io_destroy, context_);
}

/// An eventfd that is never read can always be written: the kernel completes this request in the system call.
bool Notifier::submit(int eventfd) const noexcept {
    iocb request{};
    request.aio_lio_opcode = IOCB_CMD_POLL;
    request.aio_fildes = static_cast<std::uint32_t>(always_ready_.get());
    request.aio_buf = POLLOUT;
    request.aio_flags = IOCB_FLAG_RESFD;
    request.aio_resfd = static_cast<std::uint32_t>(eventfd);
    iocb* one = &request;
    return syscall(SYS_io_submit, context_, 1, &one) == 1;
}

void Notifier::notify(int eventfd) const noexcept {
    if (context_ == 0) {
        pollfd room{.fd = eventfd, .events = POLLOUT, .revents = 0};
        if (poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0) EventDescriptor::signal(eventfd);
        return;
    }
    if (submit(eventfd) || errno != EAGAIN) return;
    // Completions are not needed; they are reaped only when there is no room for another.
    std::array<io_event, events> done;
    timespec now{};
    syscall(SYS_io_getevents, context_, 0, done.size(), done.data(), &now);
    submit(eventfd);
}

void signal_eventfd(int eventfd, const Notifier* notifier) noexcept {
    if (notifier != nullptr) return notifier->notify(eventfd);
    EventDescriptor::signal(eventfd);  // fails only if the counter is full: its reader is signalled already
}

}  // namespace verbline::pmd::memif
