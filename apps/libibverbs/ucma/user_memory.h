// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Copies from and to the program's memory, at addresses that are not trusted. Where the kernel would answer EFAULT,
/// these return that error instead of crashing. Requires memory::install_fault_guard.
///
/// Structures are copied, since addresses need not be aligned either.

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "datapath/memory/guarded.h"
#include "pmd/base/error.h"

namespace verbline::verbs {

inline Result<void> read_user(std::uint64_t address, std::span<std::byte> to) {
    if (to.empty()) return {};
    if (memory::guarded_copy(to.data(), reinterpret_cast<const std::byte*>(address), to.size())) return {};
    return failure(EFAULT, "address");
}

inline Result<void> write_user(std::uint64_t address, std::span<const std::byte> from) {
    if (from.empty()) return {};
    if (memory::guarded_copy(reinterpret_cast<std::byte*>(address), from.data(), from.size())) return {};
    return failure(EFAULT, "address");
}

template <class Structure>
    requires std::is_trivially_copyable_v<Structure>
Result<Structure> read_user(std::uint64_t address) {
    Structure structure{};
    if (auto read = read_user(address, std::as_writable_bytes(std::span(&structure, 1))); !read)
        return std::unexpected(read.error());
    return structure;
}

}  // namespace verbline::verbs
