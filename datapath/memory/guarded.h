// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Accesses to application memory that may be inaccessible: unmapped before it was deregistered, protected, or mapped
/// from a file that was truncated. Instead of SIGSEGV or SIGBUS the access returns `false`, which the caller turns into
/// a completion error. No setup per access: the cost is that of a plain access.
///
/// Threads: any, concurrently. `install_fault_guard` must have returned true before. SIGSEGV and SIGBUS must not be
/// blocked in the calling thread: the kernel kills a process that faults while they are.
///
/// Sanitizers do not see these accesses: registered memory is raced for by design, and checked by KeyTable.

#include <cstddef>
#include <cstdint>
#include <optional>

#include <signal.h>

namespace verbline::memory {

/// Installs the process's handlers of SIGSEGV and SIGBUS permanently; repeated calls do nothing. Faults of other code
/// are passed to the handlers installed before. False if the kernel refuses (see errno).
bool install_fault_guard();

/// Replacement of sigaction(2) that keeps the guard installed: sets and returns the handler to which faults of other
/// code are passed. False if nothing was done, because the guard is not installed or does not handle `signal`: call the
/// kernel then. Async-signal-safe.
bool change_fault_handler(int signal, const struct sigaction* action, struct sigaction* before) noexcept;

/// As memcpy; the ranges must not overlap, and either may fault. On false, some of the bytes may have been copied.
[[nodiscard]] bool guarded_copy(std::byte* to, const std::byte* from, std::size_t size) noexcept;

// The following access 8 bytes in host byte order, aligned to 8, atomically for all CPUs and sequentially consistent. A
// misaligned address counts as a fault: a region may begin at an odd address although the peer's address is aligned.

/// Returns the previous value, which was replaced by `swap` if it was equal to `compare`; none on a fault.
[[nodiscard]] std::optional<std::uint64_t> guarded_compare_swap(std::byte* at, std::uint64_t compare,
                                                                std::uint64_t swap) noexcept;
/// Adds modulo 2^64 and returns the previous value; none on a fault.
[[nodiscard]] std::optional<std::uint64_t> guarded_fetch_add(std::byte* at, std::uint64_t add) noexcept;
[[nodiscard]] bool guarded_store(std::byte* at, std::uint64_t value) noexcept;

}  // namespace verbline::memory
