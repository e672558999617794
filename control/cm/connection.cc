// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/connection.h"

namespace verbline::cm {

void Connection::enter(ConnectionState state, Time now) {
    state_ = state;
    since_ = now;
}

void Connection::begin_wait(Time now, Time wait) {
    deadline_ = now + wait;
    retries_ = 0;
}

Time Connection::patience() const {
    return wire::cm_nanoseconds(response_timeout_) + 2 * wire::cm_nanoseconds(packet_lifetime_);
}

/// How long packets of the connection may be in flight: one way, acknowledged late, and back (12.9.8.4).
Time Connection::timewait() const {
    return 2 * wire::cm_nanoseconds(packet_lifetime_) + wire::cm_nanoseconds(ack_delay_);
}

void Connection::enter_timewait(Time now, bool report) {
    end_wait();
    alternate_ = Alternate::none;
    enter(ConnectionState::timewait, now);
    deadline_ = now + timewait();
    silent_ = !report || closing_;
}

template <class Message>
mad::MadBuffer Connection::addressed(Message message, std::uint64_t transaction) const {
    message.local_id = static_cast<std::uint32_t>(local_);
    if constexpr (requires { message.remote_id; }) message.remote_id = static_cast<std::uint32_t>(remote_);
    return make_mad(message, transaction);
}
template mad::MadBuffer Connection::addressed(wire::CmReq, std::uint64_t) const;
template mad::MadBuffer Connection::addressed(wire::CmMra, std::uint64_t) const;
template mad::MadBuffer Connection::addressed(wire::CmRej, std::uint64_t) const;
template mad::MadBuffer Connection::addressed(wire::CmRep, std::uint64_t) const;
template mad::MadBuffer Connection::addressed(wire::CmRtu, std::uint64_t) const;
template mad::MadBuffer Connection::addressed(wire::CmDreq, std::uint64_t) const;
template mad::MadBuffer Connection::addressed(wire::CmDrep, std::uint64_t) const;
template mad::MadBuffer Connection::addressed(wire::CmLap, std::uint64_t) const;
template mad::MadBuffer Connection::addressed(wire::CmApr, std::uint64_t) const;

void Connection::post(const mad::MadBuffer& mad, ActionSink& sink) {
    sink.count(sent(attribute(mad)));
    sink.send(peer_, mad);
}

void Connection::keep(const mad::MadBuffer& mad) {
    if (kept_) {
        *kept_ = mad;
    } else {
        kept_ = std::make_unique<mad::MadBuffer>(mad);
    }
}

void Connection::keep_and_post(const mad::MadBuffer& mad, ActionSink& sink) {
    keep(mad);
    post(mad, sink);
}

void Connection::post_kept(ActionSink& sink) {
    if (kept_) post(*kept_, sink);
}

/// Whether the message's ids belong to this connection. The peer's id is unknown before REP, and may be missing in a
/// REJ (12.6.7): then the low half of the transaction id must match; the upper half belongs to the transports.
bool Connection::ours(const ReceivedMessage& message) const {
    if (message.receiver_id() != static_cast<std::uint32_t>(local_)) return false;
    const CommunicationId sender{message.sender_id()};
    if (remote_ == CommunicationId{}) return true;
    if (sender == CommunicationId{} && message.attribute() == wire::CmAttribute::rej) {
        return static_cast<std::uint32_t>(message.transaction()) == static_cast<std::uint32_t>(transaction_);
    }
    return sender == remote_;
}

bool Connection::from_peer(const mad::GmpPeer& from) const {
    return PortAddress::of(peer_).sent(from) || primary_port_.sent(from) || alternate_port_.sent(from);
}

/// A peer that sends from the alternate path's port has migrated to it (17.2.8): the primary port may be down.
void Connection::follow_migration(const mad::GmpPeer& from) {
    if (state_ != ConnectionState::established || !alternate_port_.sent(from)) return;
    if (!PortAddress::of(peer_).sent(from) && !primary_port_.sent(from)) peer_ = from;
}

/// A late REQ of ours created a second connection at the peer: rejects its REP, so that it does not wait for us.
void Connection::refuse_stranger(const ReceivedMessage& rep, const mad::GmpPeer& from, ActionSink& sink) {
    auto rej = to_message({.reason = wire::CmRejectReason::invalid_communication_id}, wire::CmAbout::rep);
    rej.local_id = rep.receiver_id();
    rej.remote_id = rep.sender_id();
    sink.count(Count::rejected_unknown_id);
    sink.count(Count::tx_rej);
    sink.send(from, make_mad(rej, rep.transaction()));
}

void Connection::receive(const ReceivedMessage& message, const mad::GmpPeer& from, Time now, ActionSink& sink) {
    using enum wire::CmAttribute;
    if (message.attribute() == req) return receive_req(message, from, now, sink);
    // A REJ with reason "timeout" cancels a REQ whose sender never learnt our id; it was found by the sender's id.
    const bool taken_back = message.attribute() == rej && message.receiver_id() == 0;
    if (!taken_back && !ours(message)) {
        if (message.attribute() == rep) return refuse_stranger(message, from, sink);
        return sink.count(Count::rx_dropped_mismatched);
    }
    if (!from_peer(from)) return sink.count(Count::rx_dropped_stranger);
    follow_migration(from);
    switch (message.attribute()) {
        case mra: return receive_mra(message.as<wire::CmMra>(), now, sink);
        case rej: return receive_rej(message.as<wire::CmRej>(), now, sink);
        case rep: return receive_rep(message.as<wire::CmRep>(), now, sink);
        case rtu: return receive_rtu(message.as<wire::CmRtu>(), now, sink);
        case dreq: return receive_dreq(message.as<wire::CmDreq>(), message, now, sink);
        case drep: return receive_drep(message.as<wire::CmDrep>(), now, sink);
        case lap: return receive_lap(message.as<wire::CmLap>(), message, from, sink);
        case apr: return receive_apr(message.as<wire::CmApr>(), sink);
        default: return sink.count(Count::rx_dropped_mismatched);
    }
}

}  // namespace verbline::cm
