// SPDX-License-Identifier: BSD-3-Clause
// In place of faults_opening.cc, where the program has a --wrap of its own for these calls: functions of the C
// library's names, which call the C library's. So the calls of shared libraries come here as well.
#include <cerrno>
#include <cstdarg>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/faults_calls.h"
#include "tests/support/faults_state.h"

using verbline::test::faults::injected;

#define VERBLINE_STAND_IN(Result, name, parameters, arguments, failure, errnos)                   \
    extern "C" Result stand_in_##name parameters __asm__(#name);                                  \
    Result stand_in_##name parameters {                                                           \
        if (const int error = injected(#name, {errnos})) return errno = error, failure;           \
        static const auto real = reinterpret_cast<Result(*) parameters>(dlsym(RTLD_NEXT, #name)); \
        return real arguments;                                                                    \
    }
VERBLINE_FAULTY_OPENING_CALLS(VERBLINE_STAND_IN)

extern "C" int stand_in_open64(const char* path, int flags, ...) __asm__("open64");
int stand_in_open64(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const auto mode = va_arg(rest, unsigned);
    va_end(rest);
    if (const int error = injected("open64", {EMFILE, ENOMEM, EINTR})) return errno = error, -1;
    static const auto real = reinterpret_cast<int (*)(const char*, int, ...)>(dlsym(RTLD_NEXT, "open64"));
    return real(path, flags, mode);
}
