// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Queries of a path between two ports, by GID or by LID: for tests of the SA client.

#include <utility>

#include "control/sa/client.h"

namespace verbline::test {

inline void path_by_gid(sa::Client& client, const wire::Gid& source, const wire::Gid& destination, wire::PKey pkey,
                        sa::ReplyHandler<wire::PathRecord> reply) {
    client.path({.destination_gid = destination, .source_gid = source, .pkey = pkey},
                wire::path_component::destination_gid | wire::path_component::source_gid, std::move(reply));
}

inline void path_by_lid(sa::Client& client, wire::Lid source, wire::Lid destination, wire::PKey pkey,
                        sa::ReplyHandler<wire::PathRecord> reply) {
    client.path({.destination_lid = destination, .source_lid = source, .pkey = pkey},
                wire::path_component::destination_lid | wire::path_component::source_lid, std::move(reply));
}

}  // namespace verbline::test
