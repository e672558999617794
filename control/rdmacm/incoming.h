// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A request of a peer, for a connection (REQ) or for a datagram service (SIDR_REQ), before it belongs to an id.

#include <optional>
#include <span>
#include <variant>

#include "control/cm/event.h"
#include "control/cm/port_address.h"
#include "control/rdmacm/address.h"
#include "control/rdmacm/network.h"
#include "control/rdmacm/private_header.h"
#include "control/rdmacm/service.h"
#include "pmd/base/time.h"

namespace verbline::rdmacm {

struct Incoming {
    NetworkPort* port = nullptr;
    std::variant<cm::RequestReceived, cm::ServiceRequestReceived> what;
    std::optional<Ends> ends;  ///< of the IP CM header, if there is one

    const cm::EndpointPointer& endpoint() const;
    wire::CmServiceId service() const;
    /// Who has sent it, by its packet and not by what stands in it.
    cm::PortAddress sender() const;
    wire::PKey pkey() const;
    const cm::PrivateData& private_data() const;
    QueuePairType type() const;
    /// How the peer is reached.
    cm::Path path() const;
    bool datagram() const { return std::holds_alternative<cm::ServiceRequestReceived>(what); }

    /// Answers no, with the reason; a datagram service says the same in its own words. Nothing is kept of it.
    void refuse(wire::CmRejectReason reason, Time now) const;
};

}  // namespace verbline::rdmacm
