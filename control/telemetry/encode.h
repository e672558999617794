// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Converts JSON to DPDK's telemetry data within its limits: keys of letters, digits and '_', strings under 128 bytes,
/// objects of at most 256 members, replies of at most 16 KiB, beyond which the library silently omits members.
///
/// Values that it cannot represent are converted: true and false become 1 and 0, fractions and nested values become
/// strings, null is left out, bytes other than printable ASCII become '?' (22.11 writes them as invalid JSON), longer
/// strings are truncated and end in "...".

#include <cstddef>

#include "control/telemetry/server.h"

struct rte_tel_data;

namespace verbline::telemetry {

void encode_object(const Json& object, rte_tel_data* data);

/// Encodes rows first, first + 1, ... of an array, each under its number, as many as fit one reply; a row too large for
/// any reply is truncated. Returns the number of rows.
std::size_t encode_rows(const Json& rows, std::size_t first, rte_tel_data* data);

}  // namespace verbline::telemetry
