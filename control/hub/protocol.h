// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Messages between a hub and its clients on a SOCK_SEQPACKET Unix socket, one message in each packet.
///
///     client                                  hub
///       ── join ─────────────────────────────>
///       <────────────────── granted | refused ──   refused: the hub hangs up
///       ── group (a multicast address, in or out) ─>
///       <───────────────────── done | refused ──
///       ── reserve (a port number of a space) ──>
///       <──────────────── reserved | refused ──
///       ── rebind (one of those, to listen) ───>
///       <───────────────────── done | refused ──
///       ── release (one of those) ─────────────>
///       <───────────────────── done | refused ──
///                                   addresses                of a node, when those of its port have changed; unasked
///       ── resolve (the next hop to a GID) ────>               of a node, which has the port's neighbours
///       <──────────── resolved (or not yet) ────
///
///       ── direct (the MAC of another client) ──>               a link of their own, without the hub between them
///       <──────── direct granted | direct refused ──            granted: with one end of a socket
///                                        offer ──> the other    with the other end; unasked, at any time
///       ── direct end (which one) ─────────────>                 no answer
///
///       ── XRC domains and targets ────────────>               of a node: xrc_messages.h
///       ── neighbours, paths, groups ──────────>               of a node on a soft fabric: subnet_messages.h
///
/// Answers come in the order of the requests; a client may send other requests before the answer to `direct`. Offers
/// and other unasked messages come between answers.
///
/// The lane ends when either side closes the connection. Messages have one size for each type, the host's byte order,
/// and a version; `refused` is the same in all versions, so that every client can read the reason. Both sides treat
/// what they receive as hostile: `decode` returns checked, bounded values or an error.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "control/hub/port_messages.h"
#include "control/hub/subnet_messages.h"
#include "control/hub/xrc_messages.h"
#include "datapath/link/interface_address.h"
#include "datapath/wire/types.h"
#include "pmd/direct/broker.h"

namespace verbline::hub {

using link::InterfaceAddress;

/// To add a message: a struct below, encode and decode in protocol.cc, its handler (apps/EXTENDING.md); increment this.
constexpr std::uint16_t version = 11;
constexpr std::size_t max_addresses = 8;      ///< of one client
constexpr std::size_t max_program = 32;       ///< bytes of a program's name
constexpr std::size_t max_socket = 107;       ///< sun_path without its end
constexpr std::size_t max_reason = 240;       ///< bytes of a refusal's text
constexpr std::size_t largest_message = 512;  ///< bytes; size of a receive buffer

struct Join {
    wire::MacAddress mac{};                   ///< zero: any
    std::vector<InterfaceAddress> addresses;  ///< none: one of each of the hub's subnets
    std::string program;                      ///< printable ASCII
    bool direct = false;                      ///< takes offers of direct links
    bool operator==(const Join&) const = default;
};
struct Granted {
    std::string memif_socket;
    wire::MacAddress mac{};
    std::vector<InterfaceAddress> addresses;
    std::uint16_t mtu = 0;     ///< bytes behind the Ethernet header
    std::uint16_t member = 0;  ///< of a node, whose MAC and IP addresses these are (link/member.h); 0: of a hub
    bool operator==(const Granted&) const = default;
};
struct Refused {
    int code = 0;        ///< an errno value
    std::string reason;  ///< one line, printable ASCII
    bool operator==(const Refused&) const = default;
};
struct GroupMembership {
    wire::MacAddress mac{};
    bool member = false;
    wire::Gid mgid{};  ///< by which a node reports it on its link
    wire::Lid mlid{};  ///< of a soft fabric
    bool operator==(const GroupMembership&) const = default;
};
/// The next hop from one of the port's addresses. The first request starts its resolution.
struct Resolve {
    wire::Gid from{}, to{};
    bool operator==(const Resolve&) const = default;
};
struct Resolved {
    wire::MacAddress mac{};
    int code = 0;  ///< 0: `mac` is known; EINPROGRESS: ask again; else it has failed
    bool operator==(const Resolved&) const = default;
};
/// The addresses of a node's port, all of them.
struct Addresses {
    std::vector<InterfaceAddress> addresses;
    bool operator==(const Addresses&) const = default;
};
struct Done {
    bool operator==(const Done&) const = default;
};

/// A link between two clients: memif over a connected socket, of which each has one end. The requester is memif's
/// client.
using pmd::DirectId;

struct Direct {
    wire::MacAddress peer{};  ///< a lane's
    bool operator==(const Direct&) const = default;
};
/// With a descriptor.
struct DirectGranted {
    wire::MacAddress peer{};
    DirectId id{};  ///< not 0; none comes twice from a hub
    bool operator==(const DirectGranted&) const = default;
};
/// Frames for the peer continue to use the lane.
struct DirectRefused {
    wire::MacAddress peer{};
    int code = 0;  ///< an errno value
    bool operator==(const DirectRefused&) const = default;
};
/// With a descriptor.
struct DirectOffer {
    wire::MacAddress peer{};  ///< the requester
    DirectId id{};
    bool operator==(const DirectOffer&) const = default;
};
/// One of the two has closed its end. A second message on the same link is ignored.
struct DirectEnd {
    DirectId id{};
    bool operator==(const DirectEnd&) const = default;
};

using Message =
    std::variant<Join, Granted, Refused, GroupMembership, Done, Reserve, Reserved, Release, Resolve, Resolved,
                 Addresses, Direct, DirectGranted, DirectRefused, DirectOffer, DirectEnd, OpenXrcDomain,
                 XrcDomainOpened, CloseXrcDomain, CreateXrcTarget, XrcTargetMade, OpenXrcTarget, CloseXrcTarget,
                 XrcTarget, XrcTargetTaken, AskSubnetPort, SubnetPort, FindNeighbour, NeighbourFound, FindPath,
                 PathFound, JoinSubnetGroup, SubnetGroup, LeaveSubnetGroup, Rebind>;

enum class Malformed : std::uint8_t {
    foreign,        ///< not of this protocol: wrong length, mark, type or values
    other_version,  ///< of this protocol, in another version
};

/// Truncates texts and address lists that exceed their limits.
std::vector<std::byte> encode(const Message& message);
std::expected<Message, Malformed> decode(std::span<const std::byte> bytes);

}  // namespace verbline::hub
