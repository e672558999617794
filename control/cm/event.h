// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What an endpoint tells its user when it is drained. Each event is told once, in the order in which things happened.

#include <cstdint>
#include <memory>
#include <variant>

#include "control/cm/parameters.h"
#include "control/mad/gmp.h"

namespace verbline::cm {

class Endpoint;
using EndpointPointer = std::shared_ptr<Endpoint>;

/// A listener: somebody wants a connection. `endpoint` is new and the user's: answer with reply, reject or delay.
/// `request.primary` is turned round: local is ours.
struct RequestReceived {
    EndpointPointer endpoint;
    Request request;
    mad::GmpPeer from;
};
/// A listener: somebody asks for a datagram service; answer with Endpoint::respond, or drop `endpoint`.
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
/// The passive side: the active one has sent RTU.
struct Established {
    PrivateData private_data{};
};
/// The peer works on it (MRA); how long our wait is now.
struct Delayed {
    Time wait = 0;
    PrivateData private_data{};
};
/// By the peer, or by ourselves when a reply cannot be accepted. Of reasons 24 and 25 `rejection.information` is a
/// wire::ClassPortInfo. A connection manager that wants to be asked elsewhere (24) is asked there once, before this is
/// told. A port that wants the connection elsewhere (25) is told at once: the REQ must say the path to that port, which
/// whoever asks finds as he has found the first (the subnet's administration, or a neighbour's address), and then
/// connects anew to the redirect's GID; this endpoint is over.
struct Rejected {
    Rejection rejection;
};
/// DREQ of the peer: it has been answered already.
struct DisconnectRequested {
    PrivateData private_data{};
};
/// DREP, or a DREQ that nobody answered: from now on packets of the old connection die out (TIMEWAIT).
struct Disconnected {
    PrivateData private_data{};
    bool timed_out = false;
};
/// The queue pair's number may be used again.
struct TimewaitExited {};
/// Nobody answered after the last retry.
struct Unanswered {
    enum class What : std::uint8_t { request, reply, service_request, alternate_path } what{};
};
struct AlternateRequested {  ///< LAP
    Path alternate;
    PrivateData private_data{};
};
struct AlternateReplied {  ///< APR
    AlternateReply reply;
};

using Event = std::variant<RequestReceived, ServiceRequestReceived, ReplyReceived, ServiceReplyReceived, Established,
                           Delayed, Rejected, DisconnectRequested, Disconnected, TimewaitExited, Unanswered,
                           AlternateRequested, AlternateReplied>;

}  // namespace verbline::cm
