// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Describes a device and its link for `verbline devinfo`: the only call of libibverbs.so.1 that other implementations
/// do not have (VERBLINE_1.0).

#include <cstddef>

#include <infiniband/verbs.h>

/// Writes a JSON object, zero-terminated: the link, its lane, addresses, and the counters of the network device and of
/// the engine. Returns the size needed, which is more than `size` if it does not fit (then nothing is written), or -1
/// and errno: EIO in the child of a fork.
extern "C" int verbline_describe(ibv_context* context, char* text, std::size_t size);
