// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What stands behind a device, for `verbline devinfo`: the one call of libibverbs.so.1 that is ours alone
/// (VERBLINE_1.0).

#include <cstddef>

#include <infiniband/verbs.h>

/// Writes a JSON object with its zero: the link, its lane, addresses, and the counters of the network device and of the
/// engine. Returns the size that it needs, which is more than `size` if it does not fit (then nothing is written), or
/// -1 and errno: EIO in the child of a fork.
extern "C" int verbline_describe(ibv_context* context, char* text, std::size_t size);
