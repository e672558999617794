// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the members of a node whose port is on a soft fabric ask of it: the node alone talks to the subnet
/// administrator and to neighbours, for all of them.
///
///     member                                        node
///       ── ask subnet port ────────────────────────>    subnet port: LID, P_Keys, the broadcast group
///       <─────────────────────────────────── done ──    also unasked, when it has changed
///       ── find neighbour (an IP address) ─────────>    neighbour found: its GID
///       ── find path (a GID) ──────────────────────>    path found: a PathRecord
///       ── join subnet group, for a user ──────────>    subnet group: its record, again when that has changed
///       ── leave subnet group ─────────────────────>
///
/// But for the first there are no answers in order: what is found is said when it is known, and what a member asks
/// twice is said twice.

#include <cstdint>
#include <optional>

#include "control/mad/port_facts.h"
#include "control/sa/membership.h"
#include "datapath/wire/path_record.h"
#include "datapath/wire/types.h"

namespace verbline::hub {

constexpr std::size_t max_pkeys = 64;  ///< of a port, that its members are told of

struct AskSubnetPort {
    bool operator==(const AskSubnetPort&) const = default;
};
/// The attributes of the node's port, and IPoIB's broadcast group on its default partition.
struct SubnetPort {
    mad::PortFacts facts;
    /// How often the node has registered everything anew with the subnet manager, at its request or for a loss.
    std::uint32_t reregistrations = 0;
    std::optional<sa::Group> broadcast;  ///< none: the subnet administrator has not let the port in yet
    bool operator==(const SubnetPort&) const = default;
};

struct FindNeighbour {
    wire::Gid to{};           ///< an IP address, IPv4 mapped
    wire::PKey pkey{0xffff};  ///< of the partition that it is in, and an address of the port's
    bool operator==(const FindNeighbour&) const = default;
};
struct NeighbourFound {
    wire::Gid to{};
    wire::Gid gid{};  ///< of its port
    int code = 0;     ///< 0, or an errno value. EAGAIN: the member asks for too many at a time
    wire::PKey pkey{0xffff};
    bool operator==(const NeighbourFound&) const = default;
};

struct FindPath {
    wire::Gid to{};
    wire::PKey pkey{};
    bool operator==(const FindPath&) const = default;
};
struct PathFound {
    wire::Gid to{};
    wire::PKey pkey{};
    wire::PathRecord path;
    int code = 0;  ///< as above. ETIMEDOUT: the subnet administrator does not answer
    bool operator==(const PathFound&) const = default;
};

/// One user's membership of a group; the port is a member as long as any user of any member is.
struct JoinSubnetGroup {
    wire::Gid mgid{};
    std::uint32_t user = 0;  ///< the member's own number of it
    bool send_only = false;
    wire::PKey pkey{0xffff};           ///< of the group's partition
    std::optional<wire::QKey> qkey{};  ///< of a group that is created; none: the broadcast group's
    bool operator==(const JoinSubnetGroup&) const = default;
};
struct SubnetGroup {
    wire::Gid mgid{};
    std::uint32_t user = 0;
    sa::Group group;
    int code = 0;  ///< as above. EINVAL: the subnet administrator refuses; ENOSPC: the member has too many
    bool operator==(const SubnetGroup&) const = default;
};
struct LeaveSubnetGroup {
    wire::Gid mgid{};
    std::uint32_t user = 0;
    bool operator==(const LeaveSubnetGroup&) const = default;
};

}  // namespace verbline::hub
