// SPDX-License-Identifier: BSD-3-Clause
// The wrapped calls of DPDK, by themselves: only programs that make one of them link this.
#include <cstdint>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "tests/support/faults_calls.h"
#include "tests/support/faults_state.h"

// NOLINTBEGIN(bugprone-reserved-identifier): the linker chooses these names
#define VERBLINE_SET_ERRNO(error) rte_errno = (error)
VERBLINE_FAULTY_DPDK_CALLS(VERBLINE_WRAP)
// NOLINTEND(bugprone-reserved-identifier)
