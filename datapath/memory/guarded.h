// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Access to application memory that may have gone away: unmapped before it was deregistered, protected, or mapped from
/// a file that was truncated since. What would be SIGSEGV or SIGBUS becomes `false`, and the caller makes a completion
/// error of it. Nothing is prepared per access: the cost is that of the plain one.
///
/// Threads: any, at once. `install_fault_guard` must have returned true first. SIGSEGV and SIGBUS must not be blocked
/// in the calling thread: the kernel ends a process that faults while they are.
///
/// Sanitizers do not see these accesses: registered memory is raced for by design, and checked by KeyTable.

#include <cstddef>
#include <cstdint>
#include <optional>

#include <signal.h>

namespace verbline::memory {

/// Takes over SIGSEGV and SIGBUS of the process, for good; repeated calls do nothing. Faults of others go to the
/// handlers that were there before. False: the kernel refuses (errno says why).
bool install_fault_guard();

/// sigaction(2) of a program in which the guard is to stay: changes and tells the handler that faults of others go to.
/// False: nothing is done, since the guard is not installed or does not concern `signal`; the kernel is to be asked.
/// Async-signal-safe.
bool change_fault_handler(int signal, const struct sigaction* action, struct sigaction* before) noexcept;

/// As memcpy: no overlap. Either side may fault; false: some of the bytes may have been copied.
[[nodiscard]] bool guarded_copy(std::byte* to, const std::byte* from, std::size_t size) noexcept;

// The following take 8 bytes in host order, aligned to 8, and are atomic towards every CPU, sequentially consistent.
// Not aligned counts as a fault: a region may begin at an odd address although the peer's address is aligned.

/// What was there before; it has been replaced if it was equal to `compare`.
[[nodiscard]] std::optional<std::uint64_t> guarded_compare_swap(std::byte* at, std::uint64_t compare,
                                                                std::uint64_t swap) noexcept;
/// What was there before `add` was added, modulo 2^64.
[[nodiscard]] std::optional<std::uint64_t> guarded_fetch_add(std::byte* at, std::uint64_t add) noexcept;
[[nodiscard]] bool guarded_store(std::byte* at, std::uint64_t value) noexcept;

}  // namespace verbline::memory
