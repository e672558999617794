// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One connection: the state machine of IBTA volume 1, 12.9.7.
///
///     active  idle ── connect: REQ ──> req_sent ──────────────── REP ──> rep_received ── RTU ──> established
///                                        └─ MRA ─> mra_req_received ─┘      └ delay: MRA ─> mra_rep_sent ┘
///     passive      ── REQ ──> req_received ── reply: REP ─> rep_sent ─────────────────── RTU ──> established
///                                └ delay: MRA ─> mra_req_sent ┘ └─ MRA ─> mra_rep_received ┘
///     both    established ── disconnect: DREQ ──> dreq_sent ── DREP, DREQ, no answer ──> timewait ──> idle
///                   └─────── DREQ: DREP ────────────────────────────────────────────────────┘
///             REJ or timeout: idle; if established: timewait
///
/// A MAD that the peer may not have received is kept until it cannot be needed again: requests are retransmitted on
/// timeout, retransmits its reply to a repeated request. A REJ that we sent is therefore kept for a while, in timewait.
///
/// Pure: no I/O, no clock, no lock. An established connection is a few hundred bytes.

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

class Connection {
public:
    /// `local`: our communication id; `ca_guid`: of our channel adapter.
    Connection(CommunicationId local, wire::Guid ca_guid) : local_(local), ca_guid_(ca_guid) {}

    // Exactly one of these begins it.

    void connect(const Request& request, Time now, ActionSink& sink);
    /// Accepts a validated REQ and becomes the passive side (IBTA 12.9.7). Returns the request for the user.
    Request accept(const ReceivedMessage& req, const mad::GmpPeer& from, Time now);

    // User's calls. EINVAL: not in this state, or private data too long.

    Result<void> reply(const Reply& reply, Time now, ActionSink& sink);
    Result<void> ready_to_use(const PrivateData& private_data, Time now, ActionSink& sink);
    Result<void> reject(const Rejection& rejection, Time now, ActionSink& sink);
    /// Sends REJ to a REQ and keeps no state: a retransmission counts as a new REQ.
    Result<void> decline(const Rejection& rejection, Time now, ActionSink& sink);
    Result<void> delay(std::uint8_t service_timeout, const PrivateData& private_data, Time now, ActionSink& sink);
    Result<void> established(Time now);
    Result<void> disconnect(const PrivateData& private_data, Time now, ActionSink& sink);
    /// Sends an unanswered DREQ once more; the retries left are not reduced.
    void repeat_disconnect(ActionSink& sink);
    Result<void> load_alternate(const ConnectionPath& alternate, const PrivateData& private_data, Time now,
                                ActionSink& sink);
    Result<void> reply_alternate(const AlternateReply& reply, Time now, ActionSink& sink);
    /// The user dropped it: closes by REJ or DREQ. Finished once `state` is idle.
    void abandon(Time now, ActionSink& sink);
    /// Ends at once: no retransmissions, no TIMEWAIT.
    void forget(Time now);

    // Input from the network and the clock.

    void receive(const ReceivedMessage& message, const mad::GmpPeer& from, Time now, ActionSink& sink);
    /// Call at or after `deadline`.
    void tick(Time now, ActionSink& sink);
    std::optional<Time> deadline() const { return deadline_ == 0 ? std::nullopt : std::optional(deadline_); }
    /// The peer has shown that it no longer has this connection: sends DREQ if established; while opening, ends it and
    /// reports Rejected (reason 10).
    void stale(Time now, ActionSink& sink);
    /// The peer's REQ for the same service while ours is outstanding (12.10.4). Returns the request if we become the
    /// passive side and must answer it; none if we stay active.
    std::optional<Request> match(const ReceivedMessage& req, const mad::GmpPeer& from, Time now, ActionSink& sink);

    /// Whether a REQ is a retransmission of the one that made this connection, or a late one after `match`.
    bool repeats(const ReceivedMessage& req) const;

    CommunicationId local() const { return local_; }
    CommunicationId remote() const { return remote_; }
    ConnectionState state() const { return state_; }
    Time since() const { return since_; }
    unsigned retries() const { return retries_; }
    wire::CmServiceId service() const { return service_; }
    const wire::Gid& peer_gid() const { return primary_port_.gid; }
    wire::Qpn local_qpn() const { return local_qpn_; }
    wire::Qpn remote_qpn() const { return remote_qpn_; }
    bool peer_to_peer() const { return peer_to_peer_; }
    /// Whether this is a passive connection whose peer has not yet shown that it received our REP.
    bool half_open() const { return !active_ && open(state_) && state_ != ConnectionState::established; }
    /// Destination of our MADs.
    PortAddress peer_port() const { return PortAddress::of(peer_); }
    /// Whether a message came from the peer: from the port that sent the REQ or to which ours went, from the remote
    /// port of the primary or alternate path, or from the port to which it redirected us. Ids can be guessed; messages
    /// from other ports must not close or move the connection.
    bool from_peer(const mad::GmpPeer& from) const;
    /// Lookup keys; numbers are 0 until known.
    RemoteEnd remote_connection() const {
        return RemoteEnd::connection(remote_guid_, static_cast<std::uint32_t>(remote_));
    }
    RemoteEnd remote_queue_pair() const { return RemoteEnd::queue_pair(remote_guid_, primary_port_.gid, remote_qpn_); }

private:
    friend class ConnectionExplorer;  ///< test that explores all states of a pair of connections
    enum class Alternate : std::uint8_t { none, sent, delayed, received, delaying, answered };

    // connection.cc
    void enter(ConnectionState state, Time now);
    void begin_wait(Time now, Time wait);
    void end_wait() { deadline_ = 0, retries_ = 0, kept_.reset(); }
    Time patience() const;  ///< timeout for the peer's answer
    Time timewait() const;
    void enter_timewait(Time now, bool report);
    template <class Message>
    mad::MadBuffer addressed(Message message, std::uint64_t transaction) const;
    void post(const mad::MadBuffer& mad, ActionSink& sink);
    void keep(const mad::MadBuffer& mad);
    void keep_and_post(const mad::MadBuffer& mad, ActionSink& sink);
    void post_kept(ActionSink& sink);
    bool ours(const ReceivedMessage& message) const;
    void follow_migration(const mad::GmpPeer& from);
    static void refuse_stranger(const ReceivedMessage& rep, const mad::GmpPeer& from, ActionSink& sink);
    std::uint64_t own_transaction() const { return static_cast<std::uint32_t>(local_); }

    // connection_active.cc
    void receive_rep(const wire::CmRep& rep, Time now, ActionSink& sink);
    void repeat_rtu(ActionSink& sink);
    void receive_mra(const wire::CmMra& mra, Time now, ActionSink& sink);

    // connection_passive.cc
    void receive_req(const ReceivedMessage& message, const mad::GmpPeer& from, Time now, ActionSink& sink);
    static void refuse_stale(const ReceivedMessage& req, const mad::GmpPeer& to, ActionSink& sink);
    void receive_rtu(const wire::CmRtu& rtu, Time now, ActionSink& sink);

    // connection_close.cc
    void refuse(const Rejection& rejection, Time now, ActionSink& sink);
    void refuse_again(Time now, ActionSink& sink);
    void take_back_reply(const Rejection& rejection, Time now, ActionSink& sink);
    mad::MadBuffer timeout_rejection() const;
    void receive_rej(const wire::CmRej& rej, Time now, ActionSink& sink);
    bool follow_redirect(const wire::CmRej& rej, Time now, ActionSink& sink);
    void receive_dreq(const wire::CmDreq& dreq, const ReceivedMessage& message, Time now, ActionSink& sink);
    void receive_drep(const wire::CmDrep& drep, Time now, ActionSink& sink);
    void send_dreq(const PrivateData& private_data, Time now, ActionSink& sink);

    // connection_alternate.cc
    void receive_lap(const wire::CmLap& lap, const ReceivedMessage& message, const mad::GmpPeer& from,
                     ActionSink& sink);
    void receive_apr(const wire::CmApr& apr, ActionSink& sink);
    void alternate_over();

    // connection_timer.cc
    bool repeat(Count counter, Time now, ActionSink& sink);
    void give_up(Time now, ActionSink& sink);

    CommunicationId local_, remote_{};
    wire::Guid ca_guid_, remote_guid_{};
    ConnectionState state_ = ConnectionState::idle;
    Transport transport_ = Transport::rc;
    Alternate alternate_ = Alternate::none;
    bool active_ = false, peer_to_peer_ = false, redirected_ = false;
    bool silent_ = false;   ///< the end was reported already, or the user dropped it
    bool closing_ = false;  ///< the user dropped it: close as soon as the state allows
    std::uint8_t retries_ = 0, max_retries_ = 15;
    std::uint8_t response_timeout_ = 20;  ///< of the peer's connection manager, coded; so the next three
    std::uint8_t own_response_timeout_ = 20, packet_lifetime_ = 18, ack_delay_ = 0;
    wire::CmServiceId service_{};
    PortAddress primary_port_{}, alternate_port_{};  ///< the peer's
    wire::Qpn local_qpn_{}, remote_qpn_{};
    wire::Psn remote_psn_;
    std::uint64_t transaction_ = 0;            ///< of the REQ: the active side's
    std::uint64_t alternate_transaction_ = 0;  ///< of the last LAP received
    std::uint64_t alternate_digest_ = 0;
    Time deadline_ = 0;  ///< 0: none
    Time since_ = 0;
    mad::GmpPeer peer_;
    std::unique_ptr<mad::MadBuffer> kept_;  ///< retransmission buffer
};

}  // namespace verbline::cm
