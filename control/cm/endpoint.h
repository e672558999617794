// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The user's handle of a communication endpoint. It is polled; it makes no callbacks of its own.
///
///     Manager::receive ──> inbox ──┐                        poll ──> Event, Event, ..., none: armed again
///     Manager::tick  ── due ───────┴──> on_ready, once ─────> ^  the state machine runs here, in the user's thread
///
/// Received MADs wait in the endpoint's inbox. Manager::Options::on_ready is called once when there is something to do;
/// the user then polls until `poll` returns none, which re-arms the notification. All processing happens inside the
/// user's calls, so endpoints make progress in parallel without a common lock.
///
/// Threads: one at a time per endpoint. Dropping the last reference closes it: a connection that is open or being
/// opened is rejected or disconnected in the background (IBTA 12.9); no event follows.

#include <cstdint>
#include <memory>
#include <optional>

#include "control/cm/event.h"
#include "control/cm/reference.h"
#include "control/cm/state.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"

namespace verbline::cm {

class Manager;
class Session;

class Endpoint {
public:
    /// Called by the manager only.
    Endpoint(std::shared_ptr<Manager> manager, Reference<Session> session);
    ~Endpoint();
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    CommunicationId local_id() const;
    CommunicationId remote_id() const;  ///< 0: not known yet
    ConnectionState state() const;

    /// The next event, oldest first. None: nothing is pending, and on_ready is armed again.
    std::optional<EndpointEvent> poll(Time now);

    // All of these return EINVAL if the state does not allow the call or the private data is too long.

    Result<void> reply(const Reply& reply, Time now);                      ///< to REQ
    Result<void> ready_to_use(const PrivateData& private_data, Time now);  ///< RTU, to REP
    Result<void> reject(const Rejection& rejection, Time now);             ///< to REQ or REP
    /// Sends REJ to a REQ, or SIDR_REP, and keeps no state, so that a flood of requests that no user has seen costs no
    /// memory. The endpoint ends; a retransmission of the request counts as a new one (after `reject` it is rejected
    /// again).
    Result<void> decline(const Rejection& rejection, Time now);
    Result<void> decline(const ServiceReply& reply, Time now);
    Result<void> delay(std::uint8_t service_timeout, const PrivateData& private_data, Time now);  ///< MRA
    /// Data arrived on the connection before the RTU (IBV_EVENT_COMM_EST).
    Result<void> established(Time now);
    Result<void> disconnect(const PrivateData& private_data, Time now);                                       ///< DREQ
    Result<void> load_alternate(const ConnectionPath& alternate, const PrivateData& private_data, Time now);  ///< LAP
    Result<void> reply_alternate(const AlternateReply& reply, Time now);                                      ///< APR
    Result<void> respond(const ServiceReply& reply, Time now);  ///< SIDR_REP

private:
    std::shared_ptr<Manager> manager_;  ///< outlives the session
    Reference<Session> session_;
};

}  // namespace verbline::cm
