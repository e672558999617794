// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The number of an IP interface of a router: the same on the control thread and on every shard.

#include <cstdint>

namespace verbline::forward {

enum class InterfaceId : std::uint16_t {};

}  // namespace verbline::forward
