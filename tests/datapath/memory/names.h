// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the tests of keys call things.

#include <cstdint>
#include <limits>

#include "datapath/memory/key_table.h"

namespace verbline::memory {

inline constexpr PdId pd{1};
inline constexpr wire::Qpn qpn{0x11};
inline constexpr auto last = std::numeric_limits<std::uint64_t>::max();
inline constexpr auto all_rights = remote_rights | Access::local_write | Access::mw_bind;

}  // namespace verbline::memory
