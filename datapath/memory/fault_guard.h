// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The architecture's part of the SIGSEGV and SIGBUS handler. Internal to this folder.

#include <ucontext.h>

namespace verbline::memory {

/// Returns true if the fault was caused by a guarded access: execution then continues, by a change of `context` or a
/// jump, as if the access had returned false. Called in a signal handler, on any thread.
bool absorb_fault(ucontext_t& context) noexcept;

}  // namespace verbline::memory
