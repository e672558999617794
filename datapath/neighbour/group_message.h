// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IGMP and MLD in one form: a host's reports and the queries it receives, as whole packets (RFC 3376, RFC 3810 and the
/// versions before them). Groups are GIDs: an IPv4 group is mapped, as in datapath/link/ip_gid.h.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "datapath/neighbour/group_packet.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/igmp.h"
#include "datapath/wire/types.h"
#include "pmd/base/time.h"

namespace verbline::neighbour {

/// The older versions report one group per message, without the kind of change.
enum class GroupProtocol : std::uint8_t { older, newer };

struct GroupRecord {
    wire::GroupRecordType type{};
    wire::Gid group{};
    bool operator==(const GroupRecord&) const = default;
};

/// Source addresses of reports. Without an address, IPv4 uses 0.0.0.0 (RFC 3376, 4.2.13), IPv6 uses :: (RFC 3590).
struct ReportSource {
    wire::Ipv4Address ipv4{};
    wire::Ipv6Address link_local{};
};

/// Builds a report of the newer versions with all records in one packet. `records` must be of one family, and at most
/// `most_records`.
constexpr std::size_t most_records = 64;
GroupPacket report_packet(std::span<const GroupRecord> records, const ReportSource& from);
/// Builds a report of the older versions, or with `leave` a leave (MLD: done).
GroupPacket older_packet(const wire::Gid& group, bool leave, const ReportSource& from);

/// A received message that concerns hosts.
struct GroupMessage {
    bool query = false;  ///< else another host's report of an older version
    bool ipv4 = false;
    GroupProtocol version{};  ///< of the querier
    wire::Gid group{};        ///< all zero: a general query
    Time response_time = 0;   ///< of a query: the maximum delay of the report
};
/// `nullopt` for another protocol, a message that does not concern hosts, or one that must be ignored (checksum, hop
/// limit).
std::optional<GroupMessage> parse_group_message(wire::Bytes ip_packet);

}  // namespace verbline::neighbour
