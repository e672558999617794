// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A communication endpoint as its user holds it: polled, not called back.
///
///     Manager::receive ──> inbox ──┐                        poll ──> Event, Event, ..., none: armed again
///     Manager::tick  ── due ───────┴──> ready, told once ───> ^  the state machine runs here, in the user's thread
///
/// Received MADs wait in the endpoint. The user is told once that there is something (Manager::Options::on_ready) and
/// polls until nothing is left, which arms it again. All work is done inside of the user's calls, so endpoints make
/// progress in parallel, with no lock in common.
///
/// Threads: one at a time per endpoint. Dropping the last reference ends it: a connection that is open, or opening, is
/// rejected or disconnected as the standard wants, in the background; no event follows.

#include <cstdint>
#include <memory>
#include <optional>

#include "control/cm/event.h"
#include "control/cm/reference.h"
#include "control/cm/state.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"

namespace verbline::cm {

class Core;
class Session;

class Endpoint {
public:
    /// The manager makes it.
    Endpoint(std::shared_ptr<Core> core, Reference<Session> session);
    ~Endpoint();
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    CommunicationId local_id() const;
    CommunicationId remote_id() const;  ///< 0: not known yet
    State state() const;

    /// The next thing that has happened; none: nothing more, armed again.
    std::optional<Event> poll(Time now);

    // In all: EINVAL, not in this state, or private data too long.

    Result<void> reply(const Reply& reply, Time now);                      ///< to REQ
    Result<void> ready_to_use(const PrivateData& private_data, Time now);  ///< RTU, to REP
    Result<void> reject(const Rejection& rejection, Time now);             ///< to REQ or REP
    /// REJ to REQ, or SIDR_REP, without a trace: for requests that nobody has seen, of which anybody can send many. The
    /// endpoint is over; should the same request come again, it is a new one (after `reject` it is refused again).
    Result<void> decline(const Rejection& rejection, Time now);
    Result<void> decline(const ServiceReply& reply, Time now);
    Result<void> delay(std::uint8_t service_timeout, const PrivateData& private_data, Time now);  ///< MRA
    /// A message came on the connection before RTU did (IBV_EVENT_COMM_EST).
    Result<void> established(Time now);
    Result<void> disconnect(const PrivateData& private_data, Time now);                             ///< DREQ
    Result<void> load_alternate(const Path& alternate, const PrivateData& private_data, Time now);  ///< LAP
    Result<void> reply_alternate(const AlternateReply& reply, Time now);                            ///< APR
    Result<void> respond(const ServiceReply& reply, Time now);                                      ///< SIDR_REP

private:
    std::shared_ptr<Core> core_;  ///< outlives the session
    Reference<Session> session_;
};

}  // namespace verbline::cm
