// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Lists the multicast groups of a subnet, by one query for each MLID.
///
/// A table query would be one request, but its answer spans packets only with RMPP, which simulators lack. MLIDs are
/// given out from 0xc000 upwards and reused, so asking block after block until one is empty finds every group; it takes
/// some 70 us each. The SA does not show join states to requesters without its key, but matches them in queries: those
/// of our own port are found by a query for each of the fifteen combinations.

#include <expected>
#include <vector>

#include "apps/verbline/subnet/subnet_session.h"
#include "datapath/wire/mcmember_record.h"

namespace verbline::cli {

struct ScannedGroup {
    wire::McMemberRecord record;
    wire::JoinState joined = 0;  ///< of our port
    bool shared_mlid = false;    ///< several groups have this MLID, the only valid field of `record`
};

std::expected<std::vector<ScannedGroup>, sa::Failure> scan_groups(SubnetSession& session, sa::Client& client);

/// The join state of our port in one group.
std::expected<wire::JoinState, sa::Failure> joined_states(SubnetSession& session, sa::Client& client,
                                                          const wire::Gid& mgid);

}  // namespace verbline::cli
