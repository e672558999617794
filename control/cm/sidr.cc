// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/sidr.h"

namespace verbline::cm {

namespace {

/// How long an answer is kept: SIDR_REQ has no timeout field, so twice the usual timeout.
constexpr Time keep_answer = 2 * (wire::cm_nanoseconds(20) + 2 * wire::cm_nanoseconds(18));

}  // namespace

void Sidr::forget(Time now) {
    deadline_ = 0;
    kept_.reset();
    enter(ConnectionState::idle, now);
}

void Sidr::post_kept(ActionSink& sink) {
    sink.count(sent(attribute(*kept_)));
    sink.send(peer_, *kept_);
}

void Sidr::resolve(const ServiceRequest& request, Time now, ActionSink& sink) {
    service_ = request.service;
    max_retries_ = request.max_cm_retries;
    peer_ = peer_of(request.path, request.pkey);
    server_ = {.gid = request.path.remote_gid, .lid = request.path.remote_lid};
    patience_ = wire::cm_nanoseconds(request.response_timeout) + 2 * wire::cm_nanoseconds(request.path.packet_lifetime);
    auto message = to_message(request);
    message.request_id = request_id_ = static_cast<std::uint32_t>(local_);
    kept_ = std::make_unique<mad::MadBuffer>(make_mad(message, request_id_));
    enter(ConnectionState::sidr_req_sent, now);
    deadline_ = now + patience_;
    post_kept(sink);
}

ServiceRequest Sidr::accept(const ReceivedMessage& message, const mad::GmpPeer& from, Time now) {
    const auto& req = message.as<wire::CmSidrReq>();
    service_ = req.service;
    request_id_ = req.request_id;
    transaction_ = message.transaction();
    peer_ = from;
    enter(ConnectionState::sidr_req_received, now);
    return from_message(req, from);
}

Result<void> Sidr::respond(const ServiceReply& reply, Time now, ActionSink& sink) {
    if (state_ != ConnectionState::sidr_req_received)
        return failure(EINVAL, "there is no datagram request to respond to");
    if (auto result = fits(reply); !result) return result;
    auto message = to_message(reply, service_);
    message.request_id = request_id_;
    kept_ = std::make_unique<mad::MadBuffer>(make_mad(message, transaction_));
    enter(ConnectionState::timewait, now);
    deadline_ = now + keep_answer;
    post_kept(sink);
    return {};
}

Result<void> Sidr::decline(const ServiceReply& reply, Time now, ActionSink& sink) {
    auto result = respond(reply, now, sink);
    if (result) forget(now);
    return result;
}

void Sidr::abandon(Time now, ActionSink& sink) {
    if (state_ == ConnectionState::sidr_req_received) (void)respond({.status = wire::SidrStatus::rejected}, now, sink);
    if (state_ == ConnectionState::sidr_req_sent) forget(now);
}

void Sidr::receive(const ReceivedMessage& message, const mad::GmpPeer& from, Time now, ActionSink& sink) {
    if (message.attribute() == wire::CmAttribute::sidr_req) {
        sink.count(Count::rx_duplicate_sidr_req);
        if (state_ == ConnectionState::timewait) post_kept(sink);
        return;
    }
    if (message.attribute() != wire::CmAttribute::sidr_rep) return sink.count(Count::rx_dropped_mismatched);
    if (state_ != ConnectionState::sidr_req_sent) return sink.count(Count::rx_dropped_unexpected);
    if (!server_.sent(from) && !PortAddress::of(peer_).sent(from)) return sink.count(Count::rx_dropped_stranger);
    const auto& rep = message.as<wire::CmSidrRep>();
    if (follow_redirect(rep, now, sink)) return;
    forget(now);
    sink.emit(ServiceReplyReceived{from_message(rep)});
}

/// Repeats the request to the redirect's target; a further redirect is reported as the answer (12.11.2.1, 13.5.2).
bool Sidr::follow_redirect(const wire::CmSidrRep& rep, Time now, ActionSink& sink) {
    if (rep.status != wire::SidrStatus::redirect || redirected_) return false;
    const auto there = redirected(peer_, rep.information);
    if (!there) return false;
    redirected_ = true;
    peer_ = *there;
    sink.count(Count::redirects);
    retries_ = 0;
    deadline_ = now + patience_;
    post_kept(sink);
    return true;
}

void Sidr::tick(Time now, ActionSink& sink) {
    if (deadline_ == 0 || now < deadline_) return;
    if (state_ == ConnectionState::timewait) return forget(now);
    if (retries_ < max_retries_) {
        ++retries_;
        deadline_ = now + patience_;
        sink.count(Count::retries_sidr_req);
        return post_kept(sink);
    }
    sink.count(Count::timeouts_sidr_req);
    forget(now);
    sink.emit(Unanswered{Unanswered::What::service_request});
}

}  // namespace verbline::cm
