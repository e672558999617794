// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Between what users say (parameters.h) and what stands in messages. Ids are the connection's business and left out.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "control/cm/message.h"
#include "control/cm/parameters.h"
#include "control/mad/gmp.h"

namespace verbline::cm {

/// Whether the parts of variable length fit; else EINVAL, in words.
Result<void> fits(const Request& request);
Result<void> fits(const Reply& reply);
Result<void> fits(const Rejection& rejection);
Result<void> fits(const AlternateReply& reply);
Result<void> fits(const ServiceRequest& request);
Result<void> fits(const ServiceReply& reply);
/// `capacity` of the message it is for.
Result<void> fits(const PrivateData& private_data, std::size_t capacity);

wire::CmReq to_message(const Request& request, wire::Guid ca_guid);
wire::CmRep to_message(const Reply& reply, Transport transport, wire::Guid ca_guid);
wire::CmRej to_message(const Rejection& rejection, wire::CmAbout about);
wire::CmLap to_message(const Path& alternate, wire::Qpn remote_qpn, std::uint8_t response_timeout,
                       const PrivateData& private_data);
wire::CmApr to_message(const AlternateReply& reply);
wire::CmSidrReq to_message(const ServiceRequest& request);
wire::CmSidrRep to_message(const ServiceReply& reply, wire::CmServiceId service);

/// As the receiver sees it: paths are turned round. `from`: who sent it, for what only the network knows.
Request from_message(const wire::CmReq& req, const mad::GmpPeer& from);
Reply from_message(const wire::CmRep& rep, Transport transport);
Rejection from_message(const wire::CmRej& rej);
Path from_message(const wire::CmLap& lap, const mad::GmpPeer& from);
AlternateReply from_message(const wire::CmApr& apr);
ServiceRequest from_message(const wire::CmSidrReq& req, const mad::GmpPeer& from);
ServiceReply from_message(const wire::CmSidrRep& rep);

/// XRC says its queue pair's number elsewhere (annex A14).
wire::Qpn queue_pair(const wire::CmRep& rep, Transport transport);
/// Where MADs of a path go.
mad::GmpPeer peer_of(const Path& path, wire::PKey pkey);

/// Where a connection manager wants to be asked instead, as its REJ or SIDR_REP says (ClassPortInfo, 13.5.2); `peer`:
/// who says so. None: it names no queue pair.
std::optional<mad::GmpPeer> redirected(const mad::GmpPeer& peer, std::span<const std::byte> information);

/// Bytes of variable length in the front of a field; the rest is zero.
template <std::size_t size>
std::array<std::byte, size> padded(std::span<const std::byte> bytes) {
    std::array<std::byte, size> field{};
    std::ranges::copy(bytes.first(std::min(size, bytes.size())), field.begin());
    return field;
}
inline std::vector<std::byte> to_vector(std::span<const std::byte> bytes) {
    return {bytes.begin(), bytes.end()};
}

}  // namespace verbline::cm
