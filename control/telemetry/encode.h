// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// JSON into DPDK's telemetry data, within its limits: keys of letters, digits and '_', strings under 128 bytes,
/// objects of at most 256 members, replies of at most 16 KiB, beyond which the library silently leaves members out.
///
/// What it cannot say is said otherwise: true and false become 1 and 0, fractions and nested values become strings,
/// null is left out, bytes other than printable ASCII become '?' (22.11 writes them as invalid JSON), longer strings
/// end in "...".

#include <cstddef>

#include "control/telemetry/server.h"

struct rte_tel_data;

namespace verbline::telemetry {

void encode_object(const Json& object, rte_tel_data* data);

/// Rows first, first + 1, ... of an array, each under its number, as far as they fit one reply; a row that is too large
/// for any reply is cut rather than waited for. Returns how many.
std::size_t encode_rows(const Json& rows, std::size_t first, rte_tel_data* data);

}  // namespace verbline::telemetry
