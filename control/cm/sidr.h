// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One service id resolution request and its answer: the state machine of IBTA volume 1, 12.11.
///
///     client  idle ── resolve: SIDR_REQ ──> sidr_req_sent ── SIDR_REP or timeout ──> idle
///                                            └─ SIDR_REP: redirect ─┘ once: SIDR_REQ
///     server  ── SIDR_REQ ──> sidr_req_received ── respond: SIDR_REP ──> timewait (answers repeats) ──> idle
///
/// Pure: no I/O, no clock, no lock.

#include <memory>
#include <optional>

#include "control/cm/actions.h"
#include "control/cm/convert.h"
#include "control/cm/message.h"
#include "control/cm/parameters.h"
#include "control/cm/shares.h"
#include "control/cm/state.h"
#include "control/mad/gmp.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"

namespace verbline::cm {

class Sidr {
public:
    explicit Sidr(CommunicationId local) : local_(local) {}

    // Exactly one of these begins it.

    void resolve(const ServiceRequest& request, Time now, ActionSink& sink);
    /// Server: accepts a SIDR_REQ that matches a listener. Returns the request for the user.
    ServiceRequest accept(const ReceivedMessage& req, const mad::GmpPeer& from, Time now);

    /// Sends SIDR_REP. EINVAL: no request is pending, or the answer is too long.
    Result<void> respond(const ServiceReply& reply, Time now, ActionSink& sink);
    /// The same, but keeps no state: a retransmitted request counts as a new one.
    Result<void> decline(const ServiceReply& reply, Time now, ActionSink& sink);
    /// The user dropped it. Finished once `state` is idle.
    void abandon(Time now, ActionSink& sink);
    /// Ends at once: retransmissions are not answered.
    void forget(Time now);

    void receive(const ReceivedMessage& message, const mad::GmpPeer& from, Time now, ActionSink& sink);
    /// Call at or after `deadline`.
    void tick(Time now, ActionSink& sink);
    std::optional<Time> deadline() const { return deadline_ == 0 ? std::nullopt : std::optional(deadline_); }

    CommunicationId local() const { return local_; }
    ConnectionState state() const { return state_; }
    Time since() const { return since_; }
    unsigned retries() const { return retries_; }
    wire::CmServiceId service() const { return service_; }
    const wire::Gid& peer_gid() const { return peer_.path.address.dgid; }
    /// Destination of our MADs.
    PortAddress peer_port() const { return PortAddress::of(peer_); }
    /// Server: whether a request is still unanswered.
    bool half_open() const { return state_ == ConnectionState::sidr_req_received; }
    /// Server: lookup key by which retransmitted requests are found.
    RemoteEnd remote_request() const {
        return RemoteEnd::datagram_request(peer_.path.address.dgid, peer_.path.address.dlid, request_id_);
    }

private:
    void enter(ConnectionState state, Time now) { state_ = state, since_ = now; }
    bool follow_redirect(const wire::CmSidrRep& rep, Time now, ActionSink& sink);
    void post_kept(ActionSink& sink);

    CommunicationId local_;
    ConnectionState state_ = ConnectionState::idle;
    bool redirected_ = false;
    std::uint8_t retries_ = 0, max_retries_ = 0;
    std::uint32_t request_id_ = 0;
    std::uint64_t transaction_ = 0;
    wire::CmServiceId service_{};
    Time deadline_ = 0, since_ = 0, patience_ = 0;
    mad::GmpPeer peer_;
    PortAddress server_{};                  ///< client: the path's remote port, whichever address MADs carry
    std::unique_ptr<mad::MadBuffer> kept_;  ///< retransmission buffer
};

}  // namespace verbline::cm
