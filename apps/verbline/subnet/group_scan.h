// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The multicast groups of a subnet, asked for one MLID at a time.
///
/// A table query would be one request, but its answer spans packets only with RMPP, which simulators lack. MLIDs are
/// given out from 0xc000 upwards and reused, so asking block after block until one is empty finds every group; it takes
/// some 70 us each. The SA hides join states from whoever does not know its key, but compares them: which of the
/// fifteen our own port is in is found by asking for each.

#include <expected>
#include <vector>

#include "apps/verbline/subnet/subnet_session.h"
#include "datapath/wire/mcmember_record.h"

namespace verbline::cli {

struct ScannedGroup {
    wire::McMemberRecord record;
    wire::JoinState joined = 0;  ///< of our port
    bool shared_mlid = false;    ///< several groups have this MLID; `record` has no more than that
};

std::expected<std::vector<ScannedGroup>, sa::Failure> scan_groups(SubnetSession& session, sa::Client& client);

/// The bits in which our port is in one group.
std::expected<wire::JoinState, sa::Failure> joined_states(SubnetSession& session, sa::Client& client,
                                                          const wire::Gid& mgid);

}  // namespace verbline::cli
