// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A request from a peer, REQ or SIDR_REQ, that has no id yet; and the private data of these messages: the IP CM header
/// (datapath/wire/ip_cm_header.h), then the user's data. AF_IB ends send no header.

#include <cstddef>
#include <optional>
#include <span>
#include <variant>

#include "control/cm/event.h"
#include "control/cm/parameters.h"
#include "control/cm/shares.h"
#include "control/rdmacm/address.h"
#include "control/rdmacm/network.h"
#include "control/rdmacm/service.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"

namespace verbline::rdmacm {

constexpr std::size_t request_data_size = 92, service_request_data_size = 216;  ///< header included

/// Header and user data together. EINVAL: more than `room` bytes in all.
Result<cm::PrivateData> with_header(const SocketAddress& source, const SocketAddress& destination,
                                    std::span<const std::byte> user, std::size_t room);

struct Ends {
    SocketAddress source;       ///< of the requester
    SocketAddress destination;  ///< without the port, which is in the service id
};
/// None: no IP CM header, or an unknown IP version.
std::optional<Ends> parse_header(std::span<const std::byte> private_data);

/// The user's private data behind the header, padding included.
cm::PrivateData without_header(std::span<const std::byte> private_data);

struct IncomingRequest {
    NetworkPort* port = nullptr;
    std::variant<cm::RequestReceived, cm::ServiceRequestReceived> what;
    std::optional<Ends> ends;  ///< from the IP CM header, if present

    const cm::EndpointPointer& endpoint() const;
    wire::CmServiceId service() const;
    /// The sender's port, from the packet's addresses, not from the message.
    cm::PortAddress sender() const;
    wire::PKey pkey() const;
    const cm::PrivateData& private_data() const;
    QueuePairType type() const;
    /// Path to the peer.
    cm::ConnectionPath path() const;
    bool datagram() const { return std::holds_alternative<cm::ServiceRequestReceived>(what); }

    /// Declines by REJ with the reason, or by SIDR_REP with the corresponding status. No state is kept.
    void refuse(wire::CmRejectReason reason, Time now) const;
};

}  // namespace verbline::rdmacm
