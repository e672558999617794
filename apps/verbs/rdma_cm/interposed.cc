// SPDX-License-Identifier: BSD-3-Clause

// Calls of the C library that librdmacm makes on the rdma_cm device. Being preloaded, ours come first for the whole
// program: what is not about that device goes on to who would have had the call without us, at the price of one look
// into a set of bits.
//
// They are defined under other names and given to the linker as what they are, since the C library's headers have
// their own ideas of these names: attributes, variadic arguments, checked variants.

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apps/verbs/rdma_cm/device.h"

extern "C" {

// The C library's own names for its calls, which nobody stands in for.
int __open(const char* path, int flags, ...);
int __close(int descriptor);
int __dup2(int from, int to);
ssize_t __write(int descriptor, const void* bytes, std::size_t size);

int verbline_open(const char* path, int flags, ...) __asm__("open");
int verbline_close(int descriptor) __asm__("close");
int verbline_dup2(int from, int to) __asm__("dup2");
int verbline_dup3(int from, int to, int flags) __asm__("dup3");
ssize_t verbline_write(int descriptor, const void* bytes, std::size_t size) __asm__("write");
int verbline_fstat(int descriptor, struct stat* about) __asm__("fstat");

}  // extern "C"

namespace {

using verbline::verbs::RdmaCmDevice;

int fstat_by_number(int descriptor, struct stat* about) {
    return fstatat(descriptor, "", about, AT_EMPTY_PATH);
}

int dup3_by_number(int from, int to, int flags) {
    return static_cast<int>(syscall(SYS_dup3, from, to, flags));
}

/// The call of that name of whoever comes after us; before we are told, the C library's.
template <class Call>
class Next {
public:
    constexpr explicit Next(Call* library) : call_(library) {}
    void look(const char* name) {
        if (auto* const found = dlsym(RTLD_NEXT, name)) call_.store(reinterpret_cast<Call*>(found));
    }
    Call* get() const { return call_.load(std::memory_order_relaxed); }

private:
    std::atomic<Call*> call_;
};

constinit Next<int(const char*, int, ...)> next_open(__open);
constinit Next<int(int)> next_close(__close);
constinit Next<int(int, int)> next_dup2(__dup2);
constinit Next<int(int, int, int)> next_dup3(dup3_by_number);
constinit Next<ssize_t(int, const void*, std::size_t)> next_write(__write);
constinit Next<int(int, struct stat*)> next_fstat(fstat_by_number);

/// When the library is loaded, and not at the first call, which a signal handler may make.
[[gnu::constructor]] void look_for_next() {
    next_open.look("open");
    next_close.look("close");
    next_dup2.look("dup2");
    next_dup3.look("dup3");
    next_write.look("write");
    next_fstat.look("fstat");
}

bool is_device(int descriptor) {
    return RdmaCmDevice::may_own(descriptor) && RdmaCmDevice::get().owns(descriptor);
}

/// Another file has taken the descriptor's place, which closes what was there.
void replaced(int descriptor) {
    if (RdmaCmDevice::may_own(descriptor)) [[unlikely]]
        RdmaCmDevice::get().forget(descriptor);
}

bool takes_mode(int flags) {
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

}  // namespace

extern "C" {

int verbline_open(const char* path, int flags, ...) {
    if (path != nullptr && std::strcmp(path, RdmaCmDevice::path) == 0) return RdmaCmDevice::get().open(flags);
    if (!takes_mode(flags)) return next_open.get()(path, flags);
    va_list arguments;
    va_start(arguments, flags);
    const auto mode = va_arg(arguments, mode_t);
    va_end(arguments);
    return next_open.get()(path, flags, mode);
}

int verbline_close(int descriptor) {
    if (RdmaCmDevice::may_own(descriptor)) [[unlikely]]
        RdmaCmDevice::get().forget(descriptor);
    return next_close.get()(descriptor);
}

int verbline_dup2(int from, int to) {
    const int result = next_dup2.get()(from, to);
    if (result >= 0 && from != to) replaced(to);
    return result;
}

int verbline_dup3(int from, int to, int flags) {
    const int result = next_dup3.get()(from, to, flags);
    if (result >= 0) replaced(to);
    return result;
}

ssize_t verbline_write(int descriptor, const void* bytes, std::size_t size) {
    if (is_device(descriptor)) [[unlikely]]
        return RdmaCmDevice::get().write(descriptor, bytes, size);
    return next_write.get()(descriptor, bytes, size);
}

int verbline_fstat(int descriptor, struct stat* about) {
    const int result = next_fstat.get()(descriptor, about);
    if (result == 0 && is_device(descriptor)) [[unlikely]]
        RdmaCmDevice::describe(*about);
    return result;
}

}  // extern "C"
