// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The subnet administrator's records as rows: codes decoded, addresses in their usual notation.

#include "apps/verbline/output/table.h"
#include "control/sa/membership.h"
#include "datapath/wire/mcmember_record.h"
#include "datapath/wire/path_record.h"

namespace verbline::cli {

Json path_row(const wire::PathRecord& path);
Json group_row(const wire::Gid& mgid, const sa::Group& group);
/// "full", "send-only", "full,send-only", ...; "-" for none.
std::string join_state_text(wire::JoinState state);

/// In milliseconds: 4.096 us * 2^code.
double lifetime_ms(std::uint8_t code);

}  // namespace verbline::cli
