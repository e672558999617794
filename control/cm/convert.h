// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Conversion between parameters.h and the messages on the wire. Communication ids are filled in by the connection.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "control/cm/message.h"
#include "control/cm/parameters.h"
#include "control/mad/gmp.h"

namespace verbline::cm {

/// Checks the sizes of the variable-length parts. EINVAL: too long.
Result<void> fits(const Request& request);
Result<void> fits(const Reply& reply);
Result<void> fits(const Rejection& rejection);
Result<void> fits(const AlternateReply& reply);
Result<void> fits(const ServiceRequest& request);
Result<void> fits(const ServiceReply& reply);
/// `capacity`: private data bytes of the message.
Result<void> fits(const PrivateData& private_data, std::size_t capacity);

wire::CmReq to_message(const Request& request, wire::Guid ca_guid);
wire::CmRep to_message(const Reply& reply, Transport transport, wire::Guid ca_guid);
wire::CmRej to_message(const Rejection& rejection, wire::CmAbout about);
wire::CmLap to_message(const ConnectionPath& alternate, wire::Qpn remote_qpn, std::uint8_t response_timeout,
                       const PrivateData& private_data);
wire::CmApr to_message(const AlternateReply& reply);
wire::CmSidrReq to_message(const ServiceRequest& request);
wire::CmSidrRep to_message(const ServiceReply& reply, wire::CmServiceId service);

/// As seen by the receiver: the ends of a path are swapped. `from`: the sender, for what only the packet's headers
/// hold.
Request from_message(const wire::CmReq& req, const mad::GmpPeer& from);
Reply from_message(const wire::CmRep& rep, Transport transport);
Rejection from_message(const wire::CmRej& rej);
ConnectionPath from_message(const wire::CmLap& lap, const mad::GmpPeer& from);
AlternateReply from_message(const wire::CmApr& apr);
ServiceRequest from_message(const wire::CmSidrReq& req, const mad::GmpPeer& from);
ServiceReply from_message(const wire::CmSidrRep& rep);

/// The QPN in a REP: in the EECN field for XRC (annex A14), else in the QPN field.
wire::Qpn queue_pair(const wire::CmRep& rep, Transport transport);
/// Destination of the MADs that follow a path.
mad::GmpPeer peer_of(const ConnectionPath& path, wire::PKey pkey);

/// Redirect target named by a REJ or SIDR_REP (ClassPortInfo, 13.5.2) of `peer`. None: it names no queue pair.
std::optional<mad::GmpPeer> redirected(const mad::GmpPeer& peer, std::span<const std::byte> information);

/// Copies bytes to the front of a fixed-size field and zeroes the rest; excess bytes are cut.
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
