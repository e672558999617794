// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IGMP and MLD in one form, as a multicast router reads and writes them: reports and leaves of hosts, queries of other
/// routers and of its own (RFC 2236, RFC 3376, RFC 2710, RFC 3810). What hosts need of the same packets is in
/// group_message.h. Addresses are GIDs, those of IPv4 mapped.
///
/// Sources are read over and counted: a group has listeners to any source, or none.

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "datapath/neighbour/group_packet.h"
#include "datapath/wire/igmp.h"
#include "datapath/wire/types.h"
#include "pmd/base/time.h"

namespace verbline::neighbour {

/// Of IGMP; versions 1 and 2 of MLD are as IGMP's 2 and 3 (RFC 3810, 8).
enum class MembershipVersion : std::uint8_t { v1 = 1, v2, v3 };

struct MembershipRecord {
    wire::GroupRecordType type{};
    wire::Gid group{};
    unsigned sources = 0;
    bool operator==(const MembershipRecord&) const = default;
};

/// A host's: of version 3, or one of the older versions in its words: "exclude nothing" for a report, "include nothing
/// from now on" for a leave.
struct MembershipReport {
    wire::Gid from{};
    MembershipVersion version{};
    std::vector<MembershipRecord> records;
    bool operator==(const MembershipReport&) const = default;
};

struct MembershipQuery {
    wire::Gid from{};   ///< ::ffff:0.0.0.0 is of a switch that has no address
    wire::Gid group{};  ///< zero: all groups
    MembershipVersion version = MembershipVersion::v3;
    Time response_time = 0;   ///< until hosts must have answered
    bool suppress = false;    ///< other routers are not to lower their timers
    unsigned robustness = 0;  ///< the querier's, of version 3; 0: not said
    Time interval = 0;        ///< likewise, between its queries
    unsigned sources = 0;     ///< asks for these alone
    bool operator==(const MembershipQuery&) const = default;
};

using MembershipMessage = std::variant<MembershipReport, MembershipQuery>;

/// `nullopt`: not of these protocols, malformed, or to be ignored (group_packet.h); of MLD also what is from no
/// link-local address (RFC 3810, 5.1.14), except a report of a host that has none yet. Records of unknown types are
/// left out (RFC 3376, 4.2.12).
std::optional<MembershipMessage> read_membership(wire::Bytes ip_packet);

/// A query of version 3. `query.from` is our address, and tells the family.
GroupPacket query_packet(const MembershipQuery& query);

}  // namespace verbline::neighbour
