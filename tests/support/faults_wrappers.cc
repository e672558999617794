// SPDX-License-Identifier: BSD-3-Clause
// The wrapped calls, but for those that give descriptors (faults_opening.cc): the linker (--wrap=NAME) turns NAME into
// __wrap_NAME, and __real_NAME into NAME.
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <new>
#include <system_error>

#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/support/faults_calls.h"
#include "tests/support/faults_state.h"

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chooses these names

using verbline::test::faults::injected;

#define VERBLINE_SET_ERRNO(error) errno = (error)
VERBLINE_FAULTY_CALLS(VERBLINE_WRAP)

VERBLINE_WRAP_VARIADIC(fcntl64, int, int, ENOLCK, EINTR, EMFILE)
VERBLINE_WRAP_VARIADIC(ioctl, int, unsigned long, ENOMEM, EINTR, EBUSY)

#define VERBLINE_WRAP_NEW(name, parameters, arguments)              \
    extern "C" void* __real_##name parameters;                      \
    extern "C" void* __wrap_##name parameters;                      \
    void* __wrap_##name parameters {                                \
        if (injected("new", {ENOMEM}) != 0) throw std::bad_alloc(); \
        return __real_##name arguments;                             \
    }
VERBLINE_WRAP_NEW(_Znwm, (size_t size), (size))
VERBLINE_WRAP_NEW(_Znam, (size_t size), (size))
VERBLINE_WRAP_NEW(_ZnwmSt11align_val_t, (size_t size, std::align_val_t alignment), (size, alignment))

// Within libstdc++, std::thread's beginning of a thread: std::thread::_M_start_thread(_State_ptr, void (*)()), whose
// second argument is passed by address.
extern "C" void __real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(void*,
                                                                                                             void*,
                                                                                                             void*);
extern "C" void __wrap__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(
    void* thread, void* state, void* depends) {
    if (const int error = injected("std::thread", {EAGAIN})) throw std::system_error(error, std::generic_category());
    __real__ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE(thread, state,
                                                                                                 depends);
}

// NOLINTEND(bugprone-reserved-identifier)
