// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "control/cm/connection.h"

// How connections end: REJ, DREQ, TIMEWAIT.

namespace verbline::cm {

/// REJ is not acknowledged: it is kept as long as the rejected message may be retransmitted.
void Connection::refuse(const Rejection& rejection, Time now, ActionSink& sink) {
    const auto about = active_ ? wire::CmAbout::rep : wire::CmAbout::req;
    enter_timewait(now, false);
    keep(addressed(to_message(rejection, about), transaction_));
    refuse_again(now, sink);
}

void Connection::refuse_again(Time now, ActionSink& sink) {
    if (!kept_) return;
    // The peer retransmits after our response timeout plus the message's travel time.
    deadline_ = now + wire::cm_nanoseconds(own_response_timeout_) + 2 * timewait();
    post_kept(sink);
}

Result<void> Connection::reject(const Rejection& rejection, Time now, ActionSink& sink) {
    using enum ConnectionState;
    if (state_ != req_received && state_ != mra_req_sent && state_ != rep_received && state_ != mra_rep_sent) {
        return failure(EINVAL, "there is neither a request nor a reply to reject");
    }
    if (auto result = fits(rejection); !result) return result;
    refuse(rejection, now, sink);
    return {};
}

Result<void> Connection::decline(const Rejection& rejection, Time now, ActionSink& sink) {
    if (state_ != ConnectionState::req_received) return failure(EINVAL, "there is no request to decline");
    if (auto result = fits(rejection); !result) return result;
    post(addressed(to_message(rejection, wire::CmAbout::req), transaction_), sink);
    forget(now);
    return {};
}

void Connection::forget(Time now) {
    end_wait();
    enter(ConnectionState::idle, now);
}

void Connection::receive_rej(const wire::CmRej& rej, Time now, ActionSink& sink) {
    using enum ConnectionState;
    // A peer that has answered our REQ with REP, or is the active side, cannot reject a REQ: the REJ is late.
    if (rej.about == wire::CmAbout::req && state_ != req_sent && state_ != mra_req_received) {
        return sink.count(Count::rx_dropped_unexpected);
    }
    if (state_ == dreq_sent) {  // the peer has no connection: disconnected
        const bool reported = silent_;
        enter_timewait(now, !silent_);
        if (!reported) sink.emit(Disconnected{});
        return;
    }
    if (!open(state_)) return sink.count(Count::rx_dropped_unexpected);
    const bool to_req = state_ == req_sent || state_ == mra_req_received;
    // Peer to peer: the other side has not sent its REQ yet and has no listener; keep retransmitting ours.
    if (to_req && peer_to_peer_ && rej.reason == wire::CmRejectReason::invalid_service_id) return;
    if (to_req && follow_redirect(rej, now, sink)) return;
    const bool used = state_ == established || state_ == rep_received || state_ == mra_rep_sent;
    if (used) {
        enter_timewait(now, true);
    } else if (!active_) {
        enter_timewait(now, false);  // a late REQ must not create it again
    } else {
        end_wait();
        enter(idle, now);
    }
    sink.emit(Rejected{from_message(rej)});
}

/// Follows a redirect of the connection manager once (12.6.7.2, 13.5.2). Reason 25 redirects the connection itself,
/// which needs a path that the user must resolve (event.h).
bool Connection::follow_redirect(const wire::CmRej& rej, Time now, ActionSink& sink) {
    if (rej.reason != wire::CmRejectReason::cm_redirect || redirected_ || !kept_) return false;
    const auto there = redirected(peer_, rej.information);
    if (!there) return false;
    redirected_ = true;
    peer_ = *there;
    sink.count(Count::redirects);
    enter(ConnectionState::req_sent, now);
    begin_wait(now, patience());
    post_kept(sink);
    return true;
}

Result<void> Connection::disconnect(const PrivateData& private_data, Time now, ActionSink& sink) {
    if (state_ == ConnectionState::timewait || state_ == ConnectionState::dreq_sent) return {};
    if (state_ != ConnectionState::established) return failure(EINVAL, "there is no connection to end");
    if (auto result = fits(private_data, sizeof(wire::CmDreq{}.private_data)); !result) return result;
    send_dreq(private_data, now, sink);
    return {};
}

void Connection::send_dreq(const PrivateData& private_data, Time now, ActionSink& sink) {
    alternate_ = Alternate::none;
    enter(ConnectionState::dreq_sent, now);
    begin_wait(now, patience());
    wire::CmDreq dreq{.remote_qpn = remote_qpn_, .private_data = padded<sizeof(dreq.private_data)>(private_data)};
    keep_and_post(addressed(dreq, own_transaction()), sink);
}

void Connection::repeat_disconnect(ActionSink& sink) {
    if (state_ != ConnectionState::dreq_sent) return;
    sink.count(Count::retries_dreq);
    post_kept(sink);
}

/// DREQ is answered in any state: the peer's end is closed, and so is ours.
void Connection::receive_dreq(const wire::CmDreq& dreq, const ReceivedMessage& message, Time now, ActionSink& sink) {
    using enum ConnectionState;
    if (state_ == req_received || state_ == mra_req_sent) return sink.count(Count::rx_dropped_unexpected);
    if (local_qpn_ != dreq.remote_qpn) return sink.count(Count::rx_dropped_mismatched);
    const bool unanswered = state_ == req_sent || state_ == mra_req_received;
    if (unanswered) remote_ = CommunicationId{dreq.local_id};
    post(addressed(wire::CmDrep{}, message.transaction()), sink);
    if (state_ == timewait || state_ == idle) return sink.count(Count::rx_duplicate_dreq);
    const bool asked = state_ == dreq_sent, reported = silent_ || closing_;
    enter_timewait(now, !silent_);
    if (reported) return;
    if (unanswered) {
        // The peer accepted our REQ and then disconnected; its REP and REJ were lost.
        silent_ = true;
        sink.emit(Rejected{{.reason = wire::CmRejectReason::consumer}});
    } else if (asked) {
        sink.emit(Disconnected{to_vector(dreq.private_data)});
    } else {
        sink.emit(DisconnectRequested{to_vector(dreq.private_data)});
    }
}

void Connection::receive_drep(const wire::CmDrep& drep, Time now, ActionSink& sink) {
    if (state_ != ConnectionState::dreq_sent) return sink.count(Count::rx_dropped_unexpected);
    const bool reported = silent_;
    enter_timewait(now, !silent_);
    if (!reported) sink.emit(Disconnected{to_vector(drep.private_data)});
}

void Connection::stale(Time now, ActionSink& sink) {
    using enum ConnectionState;
    if (!open(state_)) return;
    if (state_ == established) return send_dreq({}, now, sink);
    const Rejection rejection{.reason = wire::CmRejectReason::stale_connection};
    if (state_ == rep_sent || state_ == mra_rep_received) {
        take_back_reply(rejection, now, sink);
        silent_ = true;
    } else {
        end_wait();
        enter(idle, now);
    }
    sink.emit(Rejected{rejection});
}

/// The peer may be established or still waiting: sends it REJ once, and DREQ until it answers.
void Connection::take_back_reply(const Rejection& rejection, Time now, ActionSink& sink) {
    post(addressed(to_message(rejection, wire::CmAbout::other), transaction_), sink);
    send_dreq({}, now, sink);
}

/// Identifies the connection by our GUID and id: if the REQ was never answered, the peer's id is unknown (12.6.7.2).
mad::MadBuffer Connection::timeout_rejection() const {
    Rejection rejection{.reason = wire::CmRejectReason::timeout};
    rejection.information.resize(sizeof ca_guid_);
    wire::store64(rejection.information, 0, static_cast<std::uint64_t>(ca_guid_));
    return addressed(to_message(rejection, wire::CmAbout::other), transaction_);
}

void Connection::abandon(Time now, ActionSink& sink) {
    using enum ConnectionState;
    closing_ = silent_ = true;
    const Rejection gone{.reason = wire::CmRejectReason::consumer};
    switch (state_) {
        case req_sent:
        case mra_req_received:
            end_wait();
            enter(idle, now);
            return post(timeout_rejection(), sink);
        case req_received:
        case mra_req_sent:
        case rep_received:
        case mra_rep_sent: return refuse(gone, now, sink);
        case rep_sent:
        case mra_rep_received: return take_back_reply(gone, now, sink);
        case established: return send_dreq({}, now, sink);
        default: return;
    }
}

}  // namespace verbline::cm
