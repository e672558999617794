// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/own_descriptors.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <linux/netlink.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apps/libibverbs/port/owner.h"

namespace verbline::verbs {

// Code linked into the library calls these instead of the C library's functions (--wrap), which are __real_NAME.
extern "C" {

int __real_accept(int listener, sockaddr* address, socklen_t* size);
int __real_accept4(int listener, sockaddr* address, socklen_t* size, int flags);
int __real_close(int descriptor);
int __real_epoll_create(int size);
int __real_epoll_create1(int flags);
int __real_eventfd(unsigned count, int flags);
int __real_fclose(std::FILE* file);
int __real_memfd_create(const char* name, unsigned flags);
int __real_nl_connect(nl_sock* socket, int protocol);
void __real_nl_socket_free(nl_sock* socket);
int __real_open(const char* path, int flags, ...);
int __real_open64(const char* path, int flags, ...);
int __real_pipe(int* ends);
int __real_pipe2(int* ends, int flags);
ssize_t __real_recvmsg(int socket, msghdr* message, int flags);
int __real_socket(int domain, int type, int protocol);
int __real_timerfd_create(int clock, int flags);

int __wrap_close(int descriptor);
int __wrap_socket(int domain, int type, int protocol);

}  // extern "C"

namespace {

constexpr rlim_t most_moved = 4096;  ///< a fork copies the table up to the highest number

/// The upper quarter of what the program may have open.
int first_number() noexcept {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    return static_cast<int>(std::min(limit.rlim_cur, most_moved) / 4 * 3);
}

/// The descriptors that came with a message, in place.
void adopt_received(msghdr& message) noexcept {
    for (auto* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS || part->cmsg_len < CMSG_LEN(0)) continue;
        auto* const bytes = CMSG_DATA(part);
        for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= part->cmsg_len; at += sizeof(int)) {
            int descriptor = -1;
            std::memcpy(&descriptor, bytes + at, sizeof descriptor);
            descriptor = OwnDescriptors::adopt(descriptor);
            std::memcpy(bytes + at, &descriptor, sizeof descriptor);
        }
    }
}

int adopt_both(int result, int* ends) noexcept {
    if (result != 0) return result;
    ends[0] = OwnDescriptors::adopt(ends[0]);
    ends[1] = OwnDescriptors::adopt(ends[1]);
    return 0;
}

/// A file keeps the signal that is to be sent for it (F_SETSIG). Without O_ASYNC none is, so it can be a mark; and by
/// default this one would be ignored.
constexpr int file_mark = SIGWINCH;

bool mark_file(int descriptor) noexcept {
    return fcntl(descriptor, F_SETSIG, file_mark) == 0;
}

bool takes_mode(int flags) {
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

}  // namespace

constinit thread_local bool OwnDescriptors::SharedHeap::allowed_ = false;
constinit DescriptorSet OwnDescriptors::marked_;
constinit DescriptorSet OwnDescriptors::unmarkable_;

int OwnDescriptors::adopt(int descriptor) noexcept {
    if (descriptor < 0) return descriptor;
    const int before = errno, wanted = first_number();
    const int moved = descriptor < wanted ? fcntl(descriptor, F_DUPFD_CLOEXEC, wanted) : -1;
    // No cancellation point, as close is: threads of the program come here.
    if (moved >= 0) syscall(SYS_close, descriptor);
    const int number = moved >= 0 ? moved : descriptor;
    if (DescriptorSet::in_range(number)) {
        if (!mark_file(number)) unmarkable_.add(number);
        marked_.add(number);
    }
    errno = before;
    return number;
}

void OwnDescriptors::release(int descriptor) noexcept {
    marked_.remove(descriptor);
    unmarkable_.remove(descriptor);
}

void OwnDescriptors::abandon() noexcept {
    marked_.clear();
    unmarkable_.clear();
}

/// Whether a descriptor of ours still refers to our file, as far as the file can be marked. False only if the
/// number is free or its file lacks the mark; any other failure of the call is inconclusive.
bool OwnDescriptors::is_in_place(int descriptor) noexcept {
    const int before = errno;
    const bool markable = !unmarkable_.contains(descriptor);
    const int found = fcntl(descriptor, markable ? F_GETSIG : F_GETFD);
    const bool is = found < 0 ? errno != EBADF : !markable || found == file_mark;
    errno = before;
    return is;
}

bool OwnDescriptors::guards(int descriptor) noexcept {
    return marked_.contains(descriptor) && Owner::shares_descriptors() && is_in_place(descriptor);
}

bool OwnDescriptors::is_lost(int descriptor) noexcept {
    return marked_.contains(descriptor) && !is_in_place(descriptor);
}

int OwnDescriptors::next(int from) noexcept {
    auto found = marked_.next(from);
    while (found < DescriptorSet::capacity && !is_in_place(found)) found = marked_.next(found + 1);
    return found;
}

extern "C" {

int __wrap_accept(int listener, sockaddr* address, socklen_t* size) {
    return OwnDescriptors::adopt(__real_accept(listener, address, size));
}

int __wrap_accept4(int listener, sockaddr* address, socklen_t* size, int flags) {
    return OwnDescriptors::adopt(__real_accept4(listener, address, size, flags));
}

/// A descriptor that the program has closed is not closed again: the number now belongs to the program.
int __wrap_close(int descriptor) {
    const bool lost = OwnDescriptors::is_lost(descriptor);
    OwnDescriptors::release(descriptor);
    if (lost) return errno = EBADF, -1;
    return __real_close(descriptor);
}

int __wrap_epoll_create(int size) {
    return OwnDescriptors::adopt(__real_epoll_create(size));
}

int __wrap_epoll_create1(int flags) {
    return OwnDescriptors::adopt(__real_epoll_create1(flags));
}

int __wrap_eventfd(unsigned count, int flags) {
    return OwnDescriptors::adopt(__real_eventfd(count, flags));
}

/// Releases a descriptor that was passed to fdopen.
int __wrap_fclose(std::FILE* file) {
    OwnDescriptors::release(fileno(file));
    return __real_fclose(file);
}

/// Without hugepages EAL would put its heap into a memfd and share it with every child of a fork; refused one, it takes
/// private memory.
int __wrap_memfd_create(const char* name, unsigned flags) {
    if (std::string_view(name) == "nohuge" && !OwnDescriptors::SharedHeap::allowed()) return errno = ENOSYS, -1;
    return OwnDescriptors::adopt(__real_memfd_create(name, flags));
}

/// libnl is a shared library, whose own calls are not wrapped: it gets a socket made here, which __wrap_nl_socket_free
/// releases. An older libnl that accepts none opens its own, with a low number.
int __wrap_nl_connect(nl_sock* socket, int protocol) {
    const int descriptor = __wrap_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
    sockaddr_nl any{};
    any.nl_family = AF_NETLINK;
    if (descriptor >= 0 && bind(descriptor, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0 &&
        nl_socket_set_fd(socket, protocol, descriptor) == 0)
        return 0;
    if (descriptor >= 0) __wrap_close(descriptor);
    return __real_nl_connect(socket, protocol);
}

/// nl_socket_free closes the socket's descriptor: if the number is the program's by now, the memory is leaked instead.
void __wrap_nl_socket_free(nl_sock* socket) {
    const int descriptor = socket != nullptr ? nl_socket_get_fd(socket) : -1;
    const bool lost = OwnDescriptors::is_lost(descriptor);
    OwnDescriptors::release(descriptor);
    if (!lost) __real_nl_socket_free(socket);
}

int __wrap_open(const char* path, int flags, ...) {
    if (!takes_mode(flags)) return OwnDescriptors::adopt(__real_open(path, flags));
    va_list arguments;
    va_start(arguments, flags);
    const auto mode = va_arg(arguments, mode_t);
    va_end(arguments);
    return OwnDescriptors::adopt(__real_open(path, flags, mode));
}

int __wrap_open64(const char* path, int flags, ...) {
    if (!takes_mode(flags)) return OwnDescriptors::adopt(__real_open64(path, flags));
    va_list arguments;
    va_start(arguments, flags);
    const auto mode = va_arg(arguments, mode_t);
    va_end(arguments);
    return OwnDescriptors::adopt(__real_open64(path, flags, mode));
}

int __wrap_pipe(int* ends) {
    return adopt_both(__real_pipe(ends), ends);
}

int __wrap_pipe2(int* ends, int flags) {
    return adopt_both(__real_pipe2(ends, flags), ends);
}

ssize_t __wrap_recvmsg(int socket, msghdr* message, int flags) {
    const auto size = __real_recvmsg(socket, message, flags);
    if (size >= 0) adopt_received(*message);
    return size;
}

int __wrap_socket(int domain, int type, int protocol) {
    return OwnDescriptors::adopt(__real_socket(domain, type, protocol));
}

int __wrap_timerfd_create(int clock, int flags) {
    return OwnDescriptors::adopt(__real_timerfd_create(clock, flags));
}

}  // extern "C"

}  // namespace verbline::verbs
