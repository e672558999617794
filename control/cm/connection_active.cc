// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "control/cm/connection.h"
#include "control/cm/peer_limits.h"

// The active side.

namespace verbline::cm {

void Connection::connect(const Request& request, Time now, ActionSink& sink) {
    active_ = true;
    transport_ = request.transport;
    peer_to_peer_ = request.peer_to_peer;
    service_ = request.service;
    primary_port_ = {.gid = request.primary.remote_gid, .lid = request.primary.remote_lid};
    if (request.alternate) {
        alternate_port_ = {.gid = request.alternate->remote_gid, .lid = request.alternate->remote_lid};
    }
    local_qpn_ = request.qpn;
    response_timeout_ = request.remote_response_timeout;
    own_response_timeout_ = request.local_response_timeout;
    packet_lifetime_ = request.primary.packet_lifetime;
    max_retries_ = request.max_cm_retries;
    transaction_ = own_transaction();
    peer_ = peer_of(request.primary, request.pkey);
    enter(ConnectionState::req_sent, now);
    begin_wait(now, patience());
    keep_and_post(addressed(to_message(request, ca_guid_), transaction_), sink);
}

void Connection::receive_rep(const wire::CmRep& rep, Time now, ActionSink& sink) {
    if (!active_) return sink.count(Count::rx_dropped_unexpected);
    if (state_ != ConnectionState::req_sent && state_ != ConnectionState::mra_req_received) {
        sink.count(Count::rx_duplicate_rep);
        // Our answer (RTU, MRA or REJ) was lost: send it again. In other states the user has not answered, or it is
        // over.
        if (state_ == ConnectionState::established) return repeat_rtu(sink);
        if (state_ == ConnectionState::mra_rep_sent) post_kept(sink);
        if (state_ == ConnectionState::timewait) refuse_again(now, sink);
        if (state_ == ConnectionState::idle) {
            remote_ = CommunicationId{rep.local_id};
            const Rejection over{.reason = wire::CmRejectReason::invalid_communication_id};
            post(addressed(to_message(over, wire::CmAbout::rep), transaction_), sink);
        }
        return;
    }
    remote_guid_ = rep.ca_guid;
    remote_ = CommunicationId{rep.local_id};
    remote_qpn_ = queue_pair(rep, transport_);
    remote_psn_ = rep.psn;
    if (rep.target_ack_delay > longest_ack_delay) sink.count(Count::rx_times_cut);
    ack_delay_ = std::min(rep.target_ack_delay, longest_ack_delay);
    end_wait();
    enter(ConnectionState::rep_received, now);
    if (sink.claim(remote_queue_pair())) return sink.emit(ReplyReceived{from_message(rep, transport_)});
    const Rejection stale{.reason = wire::CmRejectReason::stale_connection};
    sink.count(Count::rejected_stale);
    refuse(stale, now, sink);
    sink.emit(Rejected{stale});
}

Result<void> Connection::ready_to_use(const PrivateData& private_data, Time now, ActionSink& sink) {
    if (state_ != ConnectionState::rep_received && state_ != ConnectionState::mra_rep_sent) {
        return failure(EINVAL, "there is no reply to be ready for");
    }
    if (auto result = fits(private_data, sizeof(wire::CmRtu{}.private_data)); !result) return result;
    end_wait();
    enter(ConnectionState::established, now);
    const auto rtu =
        addressed(wire::CmRtu{.private_data = padded<sizeof(wire::CmRtu{}.private_data)>(private_data)}, transaction_);
    post(rtu, sink);
    // An RTU without private data can be rebuilt; keep it only if it has some, to save memory.
    if (!private_data.empty()) keep(rtu);
    return {};
}

/// Retransmits RTU, with its private data unless a LAP or APR has replaced it in `kept_`: the peer that takes part in
/// such an exchange has received the RTU, so its REP is late.
void Connection::repeat_rtu(ActionSink& sink) {
    const bool kept = kept_ && attribute(*kept_) == wire::CmAttribute::rtu;
    post(kept ? *kept_ : addressed(wire::CmRtu{}, transaction_), sink);
}

/// MRA: the peer needs more time; retransmission starts after the service timeout (12.6.6).
void Connection::receive_mra(const wire::CmMra& mra, Time now, ActionSink& sink) {
    using enum ConnectionState;
    const bool to_req = mra.about == wire::CmAbout::req && (state_ == req_sent || state_ == mra_req_received);
    const bool to_rep = mra.about == wire::CmAbout::rep && (state_ == rep_sent || state_ == mra_rep_received);
    const bool to_lap = mra.about == wire::CmAbout::other && state_ == established &&
                        (alternate_ == Alternate::sent || alternate_ == Alternate::delayed);
    if (!to_req && !to_rep && !to_lap) return sink.count(Count::rx_dropped_unexpected);
    const bool first = state_ == req_sent || state_ == rep_sent || alternate_ == Alternate::sent;
    if (to_req) enter(mra_req_received, first ? now : since_);
    if (to_rep) enter(mra_rep_received, first ? now : since_);
    if (to_lap) alternate_ = Alternate::delayed;
    if (mra.service_timeout > longest_service_timeout) sink.count(Count::rx_times_cut);
    const auto service_timeout = std::min(mra.service_timeout, longest_service_timeout);
    const Time wait = wire::cm_nanoseconds(service_timeout) + 2 * wire::cm_nanoseconds(packet_lifetime_);
    deadline_ = now + wait;
    if (first && !closing_) sink.emit(Delayed{.wait = wait, .private_data = to_vector(mra.private_data)});
}

std::optional<Request> Connection::match(const ReceivedMessage& message, const mad::GmpPeer& from, Time now,
                                         ActionSink& sink) {
    if (!from_peer(from)) return sink.count(Count::rx_dropped_stranger), std::nullopt;
    const auto& req = message.as<wire::CmReq>();
    const bool waiting = state_ == ConnectionState::req_sent || state_ == ConnectionState::mra_req_received;
    const auto mine = std::pair(ca_guid_, local_qpn_), theirs = std::pair(req.ca_guid, req.qpn);
    // The lower one becomes passive; the higher one ignores the REQ and gets a REP.
    if (!waiting || !peer_to_peer_ || closing_ || mine >= theirs) {
        sink.count(Count::rx_duplicate_req);
        return std::nullopt;
    }
    sink.count(Count::peer_to_peer_matches);
    end_wait();
    active_ = false;
    auto request = accept(message, from, now);
    request.peer_to_peer = true;
    return request;
}

}  // namespace verbline::cm
