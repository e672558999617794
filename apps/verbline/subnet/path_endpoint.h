// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A port of the subnet as named on the command line.

#include <cstdint>
#include <string_view>
#include <variant>

#include "datapath/wire/path_record.h"
#include "datapath/wire/types.h"
#include "pmd/base/error.h"

namespace verbline::cli {

using PathEndpoint = std::variant<wire::Lid, wire::Gid>;

/// "4" or "0x4": a LID; "0x0002c90300000001", anything above 0xffff: a port GUID, of which `subnet_prefix` makes a GID;
/// with colons: a GID.
Result<PathEndpoint> parse_endpoint(std::string_view text, std::uint64_t subnet_prefix);

/// A query for the path from `a` to `b` and its component mask.
std::pair<wire::PathRecord, wire::ComponentMask> path_query(const PathEndpoint& a, const PathEndpoint& b,
                                                            wire::PKey pkey);

}  // namespace verbline::cli
