// SPDX-License-Identifier: BSD-3-Clause
// The wrapped calls that give descriptors.
#include <cerrno>
#include <cstdarg>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/faults_calls.h"
#include "tests/support/faults_state.h"

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chooses these names
#define VERBLINE_SET_ERRNO(error) errno = (error)
VERBLINE_FAULTY_OPENING_CALLS(VERBLINE_WRAP)
VERBLINE_WRAP_VARIADIC(open64, const char*, int, EMFILE, ENOMEM, EINTR)
// NOLINTEND(bugprone-reserved-identifier)
