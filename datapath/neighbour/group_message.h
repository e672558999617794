// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IGMP and MLD as one: what a host says of its groups, and what it is asked, as whole packets (RFC 3376, RFC 3810 and
/// the versions before them). Groups are GIDs: an IPv4 group is mapped, as in datapath/link/ip_gid.h.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "datapath/wire/bytes.h"
#include "datapath/wire/igmp.h"
#include "datapath/wire/types.h"
#include "pmd/base/time.h"

namespace verbline::neighbour {

/// The older versions say one group in each message, and nothing about what changed.
enum class GroupProtocol : std::uint8_t { older, newer };

struct GroupRecord {
    wire::GroupRecordType type{};
    wire::Gid group{};
    bool operator==(const GroupRecord&) const = default;
};

/// To be sent as it is, behind an Ethernet header.
struct GroupPacket {
    wire::MacAddress destination{};
    wire::EtherType type{};
    std::vector<std::byte> bytes;  ///< from the IP header on
};

/// Our addresses: what reports come from. Without one IPv4 says 0.0.0.0 (RFC 3376, 4.2.13), IPv6 says :: (RFC 3590).
struct ReportSource {
    wire::Ipv4Address ipv4{};
    wire::Ipv6Address link_local{};
};

/// Reports of the newer versions: all records in one packet. `records` are of one family, and at most
/// `most_records`.
constexpr std::size_t most_records = 64;
GroupPacket report_packet(std::span<const GroupRecord> records, const ReportSource& from);
/// Of the older versions: a report, or with `leave` a leave (done).
GroupPacket older_packet(const wire::Gid& group, bool leave, const ReportSource& from);

/// What others say that concerns us.
struct GroupMessage {
    bool query = false;  ///< else a report of an older version
    bool ipv4 = false;
    GroupProtocol version{};  ///< of the querier
    wire::Gid group{};        ///< all zero: a query for all
    Time response_time = 0;   ///< of a query: answers are spread over it
};
/// Nothing: another protocol, a message that does not concern hosts, or one that must be ignored (checksum, hop limit).
std::optional<GroupMessage> parse_group_message(wire::Bytes ip_packet);

}  // namespace verbline::neighbour
