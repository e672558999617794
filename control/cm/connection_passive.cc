// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "control/cm/connection.h"
#include "control/cm/peer_limits.h"

// The passive side.

namespace verbline::cm {

Request Connection::accept(const ReceivedMessage& message, const mad::GmpPeer& from, Time now) {
    const auto& req = message.as<wire::CmReq>();
    auto request = from_message(req, from);
    remote_ = CommunicationId{req.local_id};
    remote_guid_ = req.ca_guid;
    primary_port_ = {.gid = req.primary.local_gid, .lid = req.primary.local_lid};
    alternate_port_ = {.gid = req.alternate.local_gid, .lid = req.alternate.local_lid};
    remote_qpn_ = req.qpn;
    remote_psn_ = req.psn;
    transport_ = request.transport;
    service_ = req.service;
    response_timeout_ = std::min(req.local_response_timeout, longest_response_timeout);
    own_response_timeout_ = std::min(req.remote_response_timeout, longest_response_timeout);
    packet_lifetime_ = std::min(request.primary.packet_lifetime, longest_packet_lifetime);
    max_retries_ = req.max_cm_retries;
    transaction_ = message.transaction();
    peer_ = from;
    enter(ConnectionState::req_received, now);
    return request;
}

/// Peer to peer: the active side may receive the other's REQ late.
bool Connection::repeats(const ReceivedMessage& message) const {
    const auto& req = message.as<wire::CmReq>();
    return active_ || (req.qpn == remote_qpn_ && req.psn == remote_psn_ && req.service == service_ &&
                       message.transaction() == transaction_);
}

/// A REQ with the peer's id of this connection: a retransmission, or of a restarted peer that reuses the id.
void Connection::receive_req(const ReceivedMessage& message, const mad::GmpPeer& from, Time now, ActionSink& sink) {
    using enum ConnectionState;
    if (!from_peer(from)) {
        // Another port cannot prove that the peer has restarted.
        sink.count(Count::rx_dropped_stranger);
        return refuse_stale(message, from, sink);
    }
    if (repeats(message)) {
        sink.count(Count::rx_duplicate_req);
        // Our answer (MRA, REP or REJ) was lost: send it again. Otherwise the user has not answered, or RTU has come
        // since.
        if (state_ == mra_req_sent || state_ == rep_sent || state_ == mra_rep_received) post_kept(sink);
        if (state_ == timewait && !active_) refuse_again(now, sink);
        return;
    }
    refuse_stale(message, peer_, sink);
    stale(now, sink);
}

void Connection::refuse_stale(const ReceivedMessage& req, const mad::GmpPeer& to, ActionSink& sink) {
    const wire::CmRej rej{.local_id = 0,
                          .remote_id = req.sender_id(),
                          .about = wire::CmAbout::req,
                          .reason = wire::CmRejectReason::stale_connection};
    sink.count(Count::rejected_stale);
    sink.count(Count::tx_rej);
    sink.send(to, make_mad(rej, req.transaction()));
}

Result<void> Connection::reply(const Reply& reply, Time now, ActionSink& sink) {
    if (state_ != ConnectionState::req_received && state_ != ConnectionState::mra_req_sent) {
        return failure(EINVAL, "there is no request to reply to");
    }
    if (auto result = fits(reply); !result) return result;
    local_qpn_ = reply.qpn;
    ack_delay_ = reply.target_ack_delay;
    enter(ConnectionState::rep_sent, now);
    begin_wait(now, patience());
    keep_and_post(addressed(to_message(reply, transport_, ca_guid_), transaction_), sink);
    return {};
}

void Connection::receive_rtu(const wire::CmRtu& rtu, Time now, ActionSink& sink) {
    if (state_ != ConnectionState::rep_sent && state_ != ConnectionState::mra_rep_received) {
        return sink.count(Count::rx_dropped_unexpected);
    }
    end_wait();
    enter(ConnectionState::established, now);
    sink.emit(Established{to_vector(rtu.private_data)});
}

Result<void> Connection::established(Time now) {
    // The active side may send data before its RTU arrives: the connection may be established already.
    if (state_ == ConnectionState::established) return {};
    if (state_ != ConnectionState::rep_sent && state_ != ConnectionState::mra_rep_received) {
        return failure(EINVAL, "there is no accepted connection that waits for its peer");
    }
    end_wait();
    enter(ConnectionState::established, now);
    return {};
}

Result<void> Connection::delay(std::uint8_t service_timeout, const PrivateData& private_data, Time now,
                               ActionSink& sink) {
    using enum ConnectionState;
    if (auto result = fits(private_data, sizeof(wire::CmMra{}.private_data)); !result) return result;
    wire::CmMra mra{.service_timeout = service_timeout, .private_data = padded<sizeof(mra.private_data)>(private_data)};
    auto transaction = transaction_;
    if (state_ == req_received) {
        enter(mra_req_sent, now);
    } else if (state_ == rep_received) {
        mra.about = wire::CmAbout::rep;
        enter(mra_rep_sent, now);
    } else if (state_ == established && alternate_ == Alternate::received) {
        mra.about = wire::CmAbout::other;
        transaction = alternate_transaction_;
        alternate_ = Alternate::delaying;
    } else {
        return failure(EINVAL, "there is no message of the peer that waits for an answer");
    }
    keep_and_post(addressed(mra, transaction), sink);
    return {};
}

}  // namespace verbline::cm
