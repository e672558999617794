// SPDX-License-Identifier: BSD-3-Clause
// The wrapped calls of libnl, by themselves: only programs that make one of them link this.
#include <cerrno>

#include <netlink/addr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <netlink/socket.h>

#include "tests/support/faults_calls.h"
#include "tests/support/faults_state.h"

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chooses these names
#define VERBLINE_SET_ERRNO(error) errno = (error)
VERBLINE_FAULTY_NETLINK_CALLS(VERBLINE_WRAP)
// NOLINTEND(bugprone-reserved-identifier)
