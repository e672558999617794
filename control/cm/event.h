// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Events returned by Endpoint::poll: each once, in the order in which they happened.

#include <cstdint>
#include <memory>
#include <variant>

#include "control/cm/parameters.h"
#include "control/mad/gmp.h"

namespace verbline::cm {

class Endpoint;
using EndpointPointer = std::shared_ptr<Endpoint>;

/// On a listener: a REQ. `endpoint` is new and owned by the user: answer with reply, reject or delay. `request.primary`
/// is seen from our side: local is ours.
struct RequestReceived {
    EndpointPointer endpoint;
    Request request;
    mad::GmpPeer from;
};
/// On a listener: a SIDR_REQ. Answer with Endpoint::respond, or drop `endpoint`.
struct ServiceRequestReceived {
    EndpointPointer endpoint;
    ServiceRequest request;
    mad::GmpPeer from;
};
struct ReplyReceived {
    Reply reply;
};
struct ServiceReplyReceived {
    ServiceReply reply;
};
/// Passive side: RTU received.
struct Established {
    PrivateData private_data{};
};
/// MRA received: the peer needs more time. `wait` is how long we now wait for its answer.
struct Delayed {
    Time wait = 0;
    PrivateData private_data{};
};
/// REJ, from the peer, or from us when a reply cannot be accepted. With reasons 24 and 25 `rejection.information` is a
/// wire::ClassPortInfo. A redirect of the connection manager (24) is followed once before this event is reported. A
/// redirect of the port (25) is reported at once: the REQ must name the path to the new port, so the user resolves that
/// path (SA, or neighbour resolution) and connects anew to the redirect's GID; this endpoint has ended.
struct Rejected {
    Rejection rejection;
};
/// DREQ received; DREP has been sent already.
struct DisconnectRequested {
    PrivateData private_data{};
};
/// DREP received, or DREQ timed out. TIMEWAIT begins: packets of the old connection may still arrive.
struct Disconnected {
    PrivateData private_data{};
    bool timed_out = false;
};
/// TIMEWAIT is over: the QPN may be reused.
struct TimewaitExited {};
/// No answer after the last retry.
struct Unanswered {
    enum class What : std::uint8_t { request, reply, service_request, alternate_path } what{};
};
struct AlternateRequested {  ///< LAP
    ConnectionPath alternate;
    PrivateData private_data{};
};
struct AlternateReplied {  ///< APR
    AlternateReply reply;
};

using EndpointEvent = std::variant<RequestReceived, ServiceRequestReceived, ReplyReceived, ServiceReplyReceived,
                                   Established, Delayed, Rejected, DisconnectRequested, Disconnected, TimewaitExited,
                                   Unanswered, AlternateRequested, AlternateReplied>;

}  // namespace verbline::cm
