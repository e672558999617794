// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A program's side of a hub: it asks for a lane and gets a memif socket, a MAC address and IP addresses.
///
///     join ──> Lane: open memif:<memif_socket> as a client and use it as an Ethernet link
///              `control` closed, or the process gone: lane, MAC and addresses are free for the next at once
///     ask_direct ──> DirectNews: one end of a socket, whose other end another client has; memif over it needs no hub
///
/// Every call blocks, for at most `answer_limit`, but for `start`, which takes up to `start_limit`, and those on direct
/// links, which never do. Errors are one line that says what to do. Nothing here needs DPDK: it works before the EAL
/// starts. One call at a time on a lane.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/hub/protocol.h"
#include "datapath/link/interface_address.h"
#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"
#include "pmd/direct/broker.h"

namespace verbline::hub {

using pmd::DirectNews;

constexpr std::chrono::seconds answer_limit{5}, start_limit{10};

struct JoinRequest {
    std::string hub = "default";
    wire::MacAddress mac{};                   ///< zero: the hub chooses
    std::vector<InterfaceAddress> addresses;  ///< at most 8; none: the hub chooses one of each of its subnets
    std::string program;                      ///< shown to others; empty: this program's name
    bool direct = false;                      ///< takes offers of direct links: looks at `take_direct_news`
};

struct Lane {
    /// Readable when there are news; hung up (POLLHUP, POLLRDHUP) when the hub is gone.
    /// A child after fork should close its copy, or the lane lives on until the child ends.
    FileDescriptor control;
    std::string memif_socket;  ///< the hub is the server; one queue in each direction
    wire::MacAddress mac{};    ///< the only one that the hub lets us send from
    std::vector<InterfaceAddress> addresses;
    std::uint16_t mtu = 0;                        ///< bytes behind the Ethernet header
    mutable std::vector<DirectNews> direct_news;  ///< that came before an answer: `take_direct_news` has them

    /// What to open the memif client with: each frame in one slot.
    static constexpr unsigned log2_ring_size = 9;
    std::uint32_t slot_size() const { return (mtu + 14u + 4u + 127u) & ~127u; }
};

/// ENOENT: no such hub runs; EPERM: it is not root's or ours, or others could replace it; EADDRINUSE: who has the
/// address; ENOSPC: the hub is full; EPROTO: another version.
Result<Lane> join(const JoinRequest& request);

/// From then on frames to this multicast MAC address reach the lane; before, only while no lane has asked for them.
/// Broadcast, IPv6 solicited-node and all-nodes, and 224.0.0.0/24 always do.
Result<void> join_group(const Lane& lane, wire::MacAddress group);
Result<void> leave_group(const Lane& lane, wire::MacAddress group);

/// A port number of a port space (annex A11) that no other lane of the hub has, until it is released or the lane ends:
/// `port`, or 0 for an ephemeral one. EADDRINUSE: who has it.
Result<std::uint16_t> reserve_port(const Lane& lane, std::uint16_t space, std::uint16_t port);
/// ENOENT: the lane does not have it.
Result<void> release_port(const Lane& lane, std::uint16_t space, std::uint16_t port);

/// Asks for a link with the lane of this address; news will tell. False: it cannot be said right now.
bool ask_direct(const Lane& lane, wire::MacAddress peer);
/// The next news, oldest first; nothing: there are none.
std::optional<DirectNews> take_direct_news(const Lane& lane);
/// The socket that came with these news is closed: the two may have another link.
void end_direct(const Lane& lane, DirectId link);

/// Whether a hub of this name answers.
bool runs(std::string_view name);

/// Starts `program hub NAME` in the background, unless it runs, and returns when it is ready. Of several callers at the
/// same time one starts it. What it has to say goes to `log_file(name)`.
Result<void> start(std::string_view name, const std::string& program);

}  // namespace verbline::hub
