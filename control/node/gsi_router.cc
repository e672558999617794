// SPDX-License-Identifier: BSD-3-Clause
#include "control/node/gsi_router.h"

#include <utility>

#include "control/rdmacm/incoming_request.h"

namespace verbline::node {
namespace {

using cm::member_of_id, cm::ReceivedMessage, wire::CmAttribute;

/// By the IP CM header of RDMA CM (annex A11.2.1), which AF_IB ends do not send; a SIDR_REQ describes no path either.
std::optional<rdmacm::SocketAddress> destination_of(const ReceivedMessage& message) {
    const bool req = message.attribute() == CmAttribute::req;
    const auto ends = req ? rdmacm::parse_header(message.as<wire::CmReq>().private_data)
                          : rdmacm::parse_header(message.as<wire::CmSidrReq>().private_data);
    if (ends) return ends->destination;
    if (!req) return std::nullopt;
    return rdmacm::SocketAddress{.family = rdmacm::Family::ib, .gid = message.as<wire::CmReq>().primary.remote_gid};
}

/// Messages without an id of the sender's: a SIDR_REP has the requester's; a REJ may come from one that never had any.
bool names_sender(const ReceivedMessage& message) {
    const bool bare = message.attribute() == CmAttribute::rej && message.sender_id() == 0;
    return message.attribute() != CmAttribute::sidr_rep && !bare;
}

mad::MadBuffer rejection(const ReceivedMessage& message, wire::CmAbout about, wire::CmRejectReason reason) {
    return cm::make_mad(wire::CmRej{.remote_id = message.sender_id(), .about = about, .reason = reason},
                        message.transaction());
}

/// As a connection manager without that connection or service answers (IBTA volume 1, 12.9.8).
GsiRouter::Verdict answer_without_member(const ReceivedMessage& message) {
    switch (message.attribute()) {
        case CmAttribute::req:
            return GsiRouter::Answer{rejection(message, wire::CmAbout::req, wire::CmRejectReason::invalid_service_id)};
        case CmAttribute::rep:
            return GsiRouter::Answer{
                rejection(message, wire::CmAbout::rep, wire::CmRejectReason::invalid_communication_id)};
        case CmAttribute::dreq:
            return GsiRouter::Answer{
                cm::make_mad(wire::CmDrep{.local_id = message.receiver_id(), .remote_id = message.sender_id()},
                             message.transaction())};
        case CmAttribute::sidr_req:
            return GsiRouter::Answer{cm::make_mad(wire::CmSidrRep{.request_id = message.sender_id(),
                                                                  .status = wire::SidrStatus::unsupported_service,
                                                                  .service = message.service()},
                                                  message.transaction())};
        default: return GsiDrop::gsi_dropped_no_member;
    }
}

}  // namespace

GsiRouter::Verdict GsiRouter::route(const Arrival& arrival) {
    const auto& message = arrival.message;
    if (arrival.from && !may_send(*arrival.from, message)) return GsiDrop::gsi_dropped_foreign_id;
    if (!arrival.to_wire) return to_member(arrival);
    tracker_.sent(*arrival.from, std::nullopt, message, arrival.headers);
    return Transmit{};
}

/// By an id of its own, or by a request that it has got.
bool GsiRouter::may_send(link::MemberId member, const ReceivedMessage& message) const {
    return names_sender(message) ? member_of_id(message.sender_id()) == member
                                 : tracker_.has_request(member, message.receiver_id());
}

GsiRouter::Verdict GsiRouter::to_member(const Arrival& arrival) {
    const auto& message = arrival.message;
    const auto to = receiver(message);
    if (!to || !setup_.attached(*to)) {
        tracker_.received_late(message);
        return answer_without_member(message);
    }
    if (arrival.from) tracker_.sent(*arrival.from, *to, message, arrival.headers);
    tracker_.received(*to, arrival.from, message, reversed(arrival.headers));
    return Deliver{*to};
}

std::optional<link::MemberId> GsiRouter::receiver(const ReceivedMessage& message) const {
    if (!message.is_request()) return member_of_id(message.receiver_id());
    const RequestTarget target{message.service(), destination_of(message)};
    if (const auto holder = setup_.holder(target)) return holder;
    return tracker_.requester(target.service);
}

}  // namespace verbline::node
