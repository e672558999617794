// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A program's side of a hub: it requests a lane and gets a memif socket, a MAC address and IP addresses.
///
///     join ──> Lane: open memif:<memif_socket> as a client and use it as an Ethernet link
///              `control` closed, or the process has ended: lane, MAC and addresses are released at once
///     ask_direct ──> DirectNews: one end of a socket, whose other end another client has; memif over it needs no hub
///
/// Calls block for at most `answer_limit`; `start` for at most `start_limit`; those on direct links never block. Errors
/// are one line with what to do. Independent of DPDK: may be used before the EAL is initialized. One call at a
/// time on a lane.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "control/hub/protocol.h"
#include "datapath/link/interface_address.h"
#include "datapath/link/member.h"
#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"
#include "pmd/direct/broker.h"

namespace verbline::hub {

using pmd::DirectNews;

constexpr std::chrono::seconds answer_limit{5}, start_limit{10};

/// What is joined. A node's members share the addresses of its port, a hub's lanes have their own.
enum class ServerKind : std::uint8_t { hub, node };

struct JoinRequest {
    std::string hub = "default";
    ServerKind kind = ServerKind::hub;
    wire::MacAddress mac{};                   ///< zero: the hub chooses
    std::vector<InterfaceAddress> addresses;  ///< at most 8; none: the hub chooses one of each of its subnets
    std::string program;                      ///< shown by the hub; empty: this program's name
    bool direct = false;                      ///< accepts offers of direct links: polls `take_direct_news`
};

/// What a node has found on its subnet, in order.
struct SubnetNews {
    std::optional<SubnetPort> port;  ///< it has changed
    std::vector<NeighbourFound> neighbours;
    std::vector<PathFound> paths;
    std::vector<SubnetGroup> groups;
};
using SubnetQuestion = std::variant<FindNeighbour, FindPath, JoinSubnetGroup, LeaveSubnetGroup>;

/// Unasked messages, received before an answer.
struct News {
    std::vector<DirectNews> direct;                          ///< `take_direct_news` returns them
    std::optional<std::vector<InterfaceAddress>> addresses;  ///< `take_addresses` returns them
    std::vector<XrcTarget> xrc_targets;                      ///< `take_xrc_targets` returns them
    SubnetNews subnet;                                       ///< `take_subnet_news` returns them
};

struct Lane {
    /// Readable when `take_direct_news` has something; hung up (POLLHUP, POLLRDHUP) when the hub has ended.
    /// A child after fork should close its copy, or the lane lives on until the child ends.
    FileDescriptor control;
    std::string memif_socket;              ///< the hub is the server; one queue in each direction
    wire::MacAddress mac{};                ///< the only source address that the hub accepts from this lane
    std::optional<link::MemberId> member;  ///< of a node, whose MAC and IP addresses these are
    std::vector<InterfaceAddress> addresses;
    std::uint16_t mtu = 0;  ///< bytes behind the Ethernet header
    mutable News news;

    /// Ring size for the memif client; slot_size() holds a frame in one slot.
    static constexpr unsigned log2_ring_size = 9;
    std::uint32_t slot_size() const { return (mtu + 14u + 4u + 127u) & ~127u; }
};

/// ENOENT: no such hub runs; EPERM: the hub is neither root's nor ours, or others could replace its socket; EADDRINUSE:
/// an address is taken (the message names the program); ENOSPC: the hub is full; EPROTO: another protocol version.
Result<Lane> join(const JoinRequest& request);

/// Subscribes the lane to a group, of which a hub knows the MAC address alone. Frames to a group without any subscriber
/// are flooded to all lanes; broadcast, IPv6 solicited-node and all-nodes, and 224.0.0.0/24 always reach all.
Result<void> join_group(const Lane& lane, wire::MacAddress group, const wire::Gid& mgid = {}, wire::Lid mlid = {});
Result<void> leave_group(const Lane& lane, wire::MacAddress group, const wire::Gid& mgid = {}, wire::Lid mlid = {});

/// The next hop from an address of a node's port. EINPROGRESS: the node resolves it, ask again; EHOSTUNREACH: nobody
/// answers.
Result<wire::MacAddress> resolve(const Lane& lane, const wire::Gid& from, const wire::Gid& to);

/// Reserves a port number of a port space (annex A11) on the hub until it is released or the lane ends: `port`, or 0
/// for an ephemeral one. EADDRINUSE: in the way of another use of it (the message names the program). EADDRNOTAVAIL:
/// the address is none of the lane's.
Result<std::uint16_t> reserve_port(const Lane& lane, std::uint16_t space, std::uint16_t port, const PortUse& use = {});
/// Changes how a reserved number is used. ENOENT: the lane does not use it so. Else as above; it stays as it was.
Result<void> rebind_port(const Lane& lane, const Rebind& wanted);
/// Releases a port number. ENOENT: the lane does not use it so.
Result<void> release_port(const Lane& lane, std::uint16_t space, std::uint16_t port, const PortUse& use = {});

/// The addresses of the node's port, if they have changed since the last call.
std::optional<std::vector<InterfaceAddress>> take_addresses(const Lane& lane);

/// Requests a direct link with the lane of this address; the result comes by `take_direct_news`. False: cannot be sent
/// now.
bool ask_direct(const Lane& lane, wire::MacAddress peer);
/// The next result, offer or end of a direct link, oldest first; none: nothing is pending.
std::optional<DirectNews> take_direct_news(const Lane& lane);
/// Reports that the link's socket is closed, so that the two lanes may have another link.
void end_direct(const Lane& lane, DirectId link);

// XRC domains and targets of a node (xrc_messages.h). EOPNOTSUPP of a hub.

/// `file` is a descriptor of the file that identifies the domain. EAGAIN: nobody has it open, and it is not to be
/// created; EINVAL: it is to be exclusive, and is not. Afterwards `take_xrc_targets` returns its targets, by and by.
Result<XrcDomainId> open_xrc_domain(const Lane& lane, int file, const OpenXrcDomain& how);
Result<void> close_xrc_domain(const Lane& lane, XrcDomainId domain);
/// A new target's number, of which the lane has a handle.
Result<wire::Qpn> create_xrc_target(const Lane& lane, XrcDomainId domain);
/// One more handle. EINVAL: there is no such target in the domain.
Result<void> open_xrc_target(const Lane& lane, XrcDomainId domain, wire::Qpn target);
Result<void> close_xrc_target(const Lane& lane, wire::Qpn target);
/// Tells the node, and by it the others of the domain, how the lane's own queue pair of this number is now.
Result<void> set_xrc_target(const Lane& lane, const XrcTarget& target);
/// Targets of the lane's domains that others have made or changed since the last call, in order.
std::vector<XrcTarget> take_xrc_targets(const Lane& lane);
/// The lane has a queue pair as this target is. Never blocks.
void tell_xrc_target_taken(const Lane& lane, const XrcTarget& target);

// The subnet of a node whose port is on a soft fabric (subnet_messages.h).

/// None: the port is on none.
Result<std::optional<SubnetPort>> ask_subnet_port(const Lane& lane);
/// The same without a lane.
Result<std::optional<SubnetPort>> ask_subnet_port(std::string_view node);
/// Never blocks; what is found comes by `take_subnet_news`. False: cannot be sent now, ask again.
bool ask_subnet(const Lane& lane, const SubnetQuestion& question);
SubnetNews take_subnet_news(const Lane& lane);
/// Of these only what the node has said last of its port.
std::optional<SubnetPort> take_subnet_port(const Lane& lane);

/// Whether a hub or node of this name runs and answers.
bool runs(std::string_view name, ServerKind kind = ServerKind::hub);

/// Starts `program hub NAME` in the background, unless it runs, and returns when it is ready. Of concurrent callers one
/// starts it. Its output goes to `log_file(name)`.
Result<void> start(std::string_view name, const std::string& program);

}  // namespace verbline::hub
