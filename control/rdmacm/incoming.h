// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A request from a peer, REQ or SIDR_REQ, that has no id yet.

#include <optional>
#include <span>
#include <variant>

#include "control/cm/event.h"
#include "control/cm/shares.h"
#include "control/rdmacm/address.h"
#include "control/rdmacm/network.h"
#include "control/rdmacm/private_header.h"
#include "control/rdmacm/service.h"
#include "pmd/base/time.h"

namespace verbline::rdmacm {

struct Incoming {
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
    cm::Path path() const;
    bool datagram() const { return std::holds_alternative<cm::ServiceRequestReceived>(what); }

    /// Declines by REJ with the reason, or by SIDR_REP with the corresponding status. No state is kept.
    void refuse(wire::CmRejectReason reason, Time now) const;
};

}  // namespace verbline::rdmacm
