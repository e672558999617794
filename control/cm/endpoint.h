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
#include <optional>

#include "control/cm/event.h"
#include "control/cm/state.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"

namespace verbline::cm {

class Endpoint {
public:
    virtual ~Endpoint() = default;

    virtual CommunicationId local_id() const = 0;
    virtual CommunicationId remote_id() const = 0;  ///< 0: not known yet
    virtual State state() const = 0;

    /// The next thing that has happened; none: nothing more, armed again.
    virtual std::optional<Event> poll(Time now) = 0;

    // In all: EINVAL, not in this state, or private data too long.

    virtual Result<void> reply(const Reply& reply, Time now) = 0;                      ///< to REQ
    virtual Result<void> ready_to_use(const PrivateData& private_data, Time now) = 0;  ///< RTU, to REP
    virtual Result<void> reject(const Rejection& rejection, Time now) = 0;             ///< to REQ or REP
    /// REJ to REQ, or SIDR_REP, without a trace: for requests that nobody has seen, of which anybody can send many. The
    /// endpoint is over; should the same request come again, it is a new one (after `reject` it is refused again).
    virtual Result<void> decline(const Rejection& rejection, Time now) = 0;
    virtual Result<void> decline(const ServiceReply& reply, Time now) = 0;
    virtual Result<void> delay(std::uint8_t service_timeout, const PrivateData& private_data, Time now) = 0;  ///< MRA
    /// A message came on the connection before RTU did (IBV_EVENT_COMM_EST).
    virtual Result<void> established(Time now) = 0;
    virtual Result<void> disconnect(const PrivateData& private_data, Time now) = 0;  ///< DREQ
    virtual Result<void> load_alternate(const Path& alternate, const PrivateData& private_data, Time now) = 0;  ///< LAP
    virtual Result<void> reply_alternate(const AlternateReply& reply, Time now) = 0;                            ///< APR
    virtual Result<void> respond(const ServiceReply& reply, Time now) = 0;  ///< SIDR_REP

protected:
    Endpoint() = default;
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;
};

}  // namespace verbline::cm
