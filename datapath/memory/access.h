// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Access rights to memory, and protection domains.

#include <cstdint>

namespace verbline::memory {

/// A protection domain (IBTA volume 1, 10.2.3). 0xffffffff is reserved.
enum class PdId : std::uint32_t {};

/// A set of rights; the bits are those of ibv_access_flags. Local reads need none.
enum class Access : std::uint32_t {
    none = 0,
    local_write = 1 << 0,
    remote_write = 1 << 1,
    remote_read = 1 << 2,
    remote_atomic = 1 << 3,
    mw_bind = 1 << 4,
    zero_based = 1 << 5,  ///< addresses start at 0, independent of the iova
    on_demand = 1 << 6,   ///< no effect: every access tolerates a missing page
    huge = 1 << 7,        ///< no effect
    flush_global = 1 << 8,
    flush_persistent = 1 << 9,
    relaxed_ordering = 1 << 20,  ///< no effect
};

constexpr Access operator|(Access a, Access b) {
    return Access{static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b)};
}
constexpr Access operator&(Access a, Access b) {
    return Access{static_cast<std::uint32_t>(a) & static_cast<std::uint32_t>(b)};
}
constexpr Access operator~(Access a) {
    return Access{~static_cast<std::uint32_t>(a)};
}
/// Whether `granted` includes every right in `needed`.
constexpr bool has(Access granted, Access needed) {
    return (granted & needed) == needed;
}

/// Rights of remote access; a window can have only these.
constexpr Access remote_rights = Access::remote_write | Access::remote_read | Access::remote_atomic |
                                 Access::flush_global | Access::flush_persistent;
/// Flags that a provider may ignore if it does not support them (IBV_ACCESS_OPTIONAL_RANGE).
constexpr Access optional_flags{0x3ff00000};
constexpr Access known_flags = remote_rights | Access::local_write | Access::mw_bind | Access::zero_based |
                               Access::on_demand | Access::huge | optional_flags;

}  // namespace verbline::memory
