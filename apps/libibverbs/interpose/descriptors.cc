// SPDX-License-Identifier: BSD-3-Clause

// Calls of the C library on descriptors. Being preloaded, ours come first for the whole program: calls that neither
// concern the rdma_cm and umad devices nor would close a descriptor of the library are passed on to the next
// definition, at the cost of one table lookup for each kind of device.
//
// They are defined under other names, with the real ones as assembler labels, since the C library's headers declare the
// real names with attributes, variadic arguments or checked variants.

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstring>

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apps/libibverbs/interpose/next.h"
#include "apps/libibverbs/port/own_descriptors.h"
#include "apps/libibverbs/port/owner.h"
#include "apps/libibverbs/ucma/device.h"
#include "apps/libibverbs/umad/device.h"

extern "C" {

// The C library's own names for its calls, which are not interposed.
int __open(const char* path, int flags, ...);
int __close(int descriptor);
int __dup2(int from, int to);
ssize_t __read(int descriptor, void* bytes, std::size_t size);
ssize_t __write(int descriptor, const void* bytes, std::size_t size);

int verbline_open(const char* path, int flags, ...) __asm__("open");
int verbline_close(int descriptor) __asm__("close");
int verbline_close_range(unsigned first, unsigned last, int flags) __asm__("close_range");
void verbline_closefrom(int first) __asm__("closefrom");
int verbline_dup2(int from, int to) __asm__("dup2");
int verbline_dup3(int from, int to, int flags) __asm__("dup3");
ssize_t verbline_read(int descriptor, void* bytes, std::size_t size) __asm__("read");
ssize_t verbline_write(int descriptor, const void* bytes, std::size_t size) __asm__("write");
int verbline_ioctl(int descriptor, unsigned long request, ...) __asm__("ioctl");
int verbline_fstat(int descriptor, struct stat* about) __asm__("fstat");

}  // extern "C"

namespace {

using verbline::verbs::DescriptorSet;
using verbline::verbs::Next;
using verbline::verbs::OwnDescriptors;
using verbline::verbs::Owner;
using verbline::verbs::RdmaCmDevice;
using verbline::verbs::UmadDevice;
using verbline::verbs::Whose;

int fstat_by_number(int descriptor, struct stat* about) {
    return fstatat(descriptor, "", about, AT_EMPTY_PATH);
}

int dup3_by_number(int from, int to, int flags) {
    return static_cast<int>(syscall(SYS_dup3, from, to, flags));
}

int close_range_by_number(unsigned first, unsigned last, int flags) {
    return static_cast<int>(syscall(SYS_close_range, first, last, flags));
}

int ioctl_by_number(int descriptor, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    const auto* const argument = va_arg(arguments, const void*);
    va_end(arguments);
    return static_cast<int>(syscall(SYS_ioctl, descriptor, request, argument));
}

constinit Next<int(const char*, int, ...)> next_open(__open);
constinit Next<int(int)> next_close(__close);
constinit Next<int(unsigned, unsigned, int)> next_close_range(close_range_by_number);
constinit Next<int(int, int)> next_dup2(__dup2);
constinit Next<int(int, int, int)> next_dup3(dup3_by_number);
constinit Next<ssize_t(int, void*, std::size_t)> next_read(__read);
constinit Next<ssize_t(int, const void*, std::size_t)> next_write(__write);
constinit Next<int(int, unsigned long, ...)> next_ioctl(ioctl_by_number);
constinit Next<int(int, struct stat*)> next_fstat(fstat_by_number);

[[gnu::constructor]] void look_for_descriptor_calls() {
    next_open.look("open");
    next_close.look("close");
    next_close_range.look("close_range");
    next_dup2.look("dup2");
    next_dup3.look("dup3");
    next_read.look("read");
    next_write.look("write");
    next_ioctl.look("ioctl");
    next_fstat.look("fstat");
}

Whose whose(int descriptor) {
    if (!RdmaCmDevice::may_own(descriptor)) [[likely]]
        return Whose::programs;
    return RdmaCmDevice::get().whose(descriptor);
}

Whose whose_umad(int descriptor) {
    if (!UmadDevice::may_own(descriptor)) [[likely]]
        return Whose::programs;
    return UmadDevice::get().whose(descriptor);
}

void closing(int descriptor) {
    RdmaCmDevice::closing(descriptor);
    UmadDevice::closing(descriptor);
}
void closing(int first, int last) {
    RdmaCmDevice::closing(first, last);
    UmadDevice::closing(first, last);
}
void replaced(int descriptor) {
    RdmaCmDevice::replaced(descriptor);
    UmadDevice::replaced(descriptor);
}

int refuse(int code = EBADF) {
    errno = code;
    return -1;
}

bool takes_mode(int flags) {
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

/// Closes the range except the library's own descriptors. Stops at the first error, as close_range would return it.
int close_around_ours(unsigned first, unsigned last, int flags) {
    const auto end = static_cast<unsigned>(DescriptorSet::capacity);
    for (auto from = first;;) {
        const auto ours = from < end ? static_cast<unsigned>(OwnDescriptors::next(static_cast<int>(from))) : end;
        if (ours == end || ours > last) return next_close_range.get()(from, last, flags);
        if (ours > from && next_close_range.get()(from, ours - 1, flags) != 0) return -1;
        if (ours == last) return 0;
        from = ours + 1;
    }
}

}  // namespace

extern "C" {

int verbline_open(const char* path, int flags, ...) {
    if (path != nullptr && std::strcmp(path, RdmaCmDevice::path) == 0) return RdmaCmDevice::get().open(flags);
    if (const auto umad = path != nullptr ? UmadDevice::index_of(path) : std::nullopt)
        return UmadDevice::get().open(*umad, flags);
    if (!takes_mode(flags)) return next_open.get()(path, flags);
    va_list arguments;
    va_start(arguments, flags);
    const auto mode = va_arg(arguments, mode_t);
    va_end(arguments);
    return next_open.get()(path, flags, mode);
}

int verbline_close(int descriptor) {
    if (OwnDescriptors::guards(descriptor)) [[unlikely]]
        return refuse();
    closing(descriptor);
    return next_close.get()(descriptor);
}

int verbline_close_range(unsigned first, unsigned last, int flags) {
    if (first > last || (flags & CLOSE_RANGE_CLOEXEC) != 0) return next_close_range.get()(first, last, flags);
    const auto most = static_cast<unsigned>(DescriptorSet::capacity - 1);
    const auto until = static_cast<int>(std::min(last, most));
    if (first <= most) closing(static_cast<int>(first), until);
    const auto ours = first <= most ? OwnDescriptors::next(static_cast<int>(first)) : DescriptorSet::capacity;
    if (ours > until || !Owner::shares_descriptors()) return next_close_range.get()(first, last, flags);
    return close_around_ours(first, last, flags);
}

void verbline_closefrom(int first) {
    const auto from = std::max(first, 0);
    if (verbline_close_range(static_cast<unsigned>(from), UINT_MAX, 0) == 0) return;
    rlimit limit{};  // a kernel before 5.9
    const auto end = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::min<rlim_t>(limit.rlim_cur, INT_MAX) : FD_SETSIZE;
    for (int each = from; each < static_cast<int>(end); ++each) verbline_close(each);
}

int verbline_dup2(int from, int to) {
    if (from != to && OwnDescriptors::guards(to)) [[unlikely]]
        return refuse();
    const int result = next_dup2.get()(from, to);
    if (result >= 0 && from != to) replaced(to);
    return result;
}

int verbline_dup3(int from, int to, int flags) {
    if (from != to && OwnDescriptors::guards(to)) [[unlikely]]
        return refuse();
    const int result = next_dup3.get()(from, to, flags);
    if (result >= 0) replaced(to);
    return result;
}

ssize_t verbline_write(int descriptor, const void* bytes, std::size_t size) {
    switch (whose(descriptor)) {
        case Whose::programs: break;
        case Whose::ours: return RdmaCmDevice::get().write(descriptor, bytes, size);
        case Whose::parents: return refuse(EIO);
    }
    switch (whose_umad(descriptor)) {
        case Whose::programs: break;
        case Whose::ours: return UmadDevice::get().write(descriptor, bytes, size);
        case Whose::parents: return refuse(EIO);
    }
    return next_write.get()(descriptor, bytes, size);
}

ssize_t verbline_read(int descriptor, void* bytes, std::size_t size) {
    switch (whose_umad(descriptor)) {
        case Whose::programs: break;
        case Whose::ours: return UmadDevice::get().read(descriptor, bytes, size);
        case Whose::parents: return refuse(EIO);
    }
    return next_read.get()(descriptor, bytes, size);
}

int verbline_ioctl(int descriptor, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    auto* const argument = va_arg(arguments, void*);
    va_end(arguments);
    switch (whose_umad(descriptor)) {
        case Whose::programs: break;
        case Whose::ours: return UmadDevice::get().ioctl(descriptor, request, argument);
        case Whose::parents: return refuse(EIO);
    }
    return next_ioctl.get()(descriptor, request, argument);
}

int verbline_fstat(int descriptor, struct stat* about) {
    const int result = next_fstat.get()(descriptor, about);
    if (result == 0 && whose(descriptor) != Whose::programs) [[unlikely]]
        RdmaCmDevice::describe(*about);
    if (result == 0 && whose_umad(descriptor) != Whose::programs) [[unlikely]]
        UmadDevice::describe(*about);
    return result;
}

}  // extern "C"
