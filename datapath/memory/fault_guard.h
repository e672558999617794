// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the signal handler asks of the architecture. Internal to this folder.

#include <ucontext.h>

namespace verbline::memory {

/// True: the fault was one of a guarded access, and `context` (or the program, by a jump) continues as it failing.
/// Called in a signal handler, on any thread.
bool absorb_fault(ucontext_t& context) noexcept;

}  // namespace verbline::memory
