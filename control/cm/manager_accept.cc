// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "control/cm/actions.h"
#include "control/cm/manager.h"

// Requests from a listener's inbox, processed when it is polled.

namespace verbline::cm {

std::optional<EndpointEvent> Manager::accept(const Session::Received& received, Time now) {
    saw(now);
    return received.message.attribute() == wire::CmAttribute::req ? accept_connection(received, now)
                                                                  : accept_datagram(received, now);
}

std::optional<unsigned> Manager::gid_index(const wire::Gid& gid, const mad::GmpPeer& from) const {
    return options_.gid_index ? options_.gid_index(gid) : std::optional(from.path.gid_index);
}

/// Why a REQ cannot be served, whatever its user does; none: it can.
std::optional<Rejection> Manager::objection(const wire::CmReq& req) const {
    using enum wire::CmRejectReason;
    const bool xrc =
        req.transport == wire::CmTransport::extended && req.extended_transport == wire::CmExtendedTransport::xrc;
    if (req.transport != wire::CmTransport::rc && req.transport != wire::CmTransport::uc && !xrc) {
        return Rejection{.reason = invalid_transport};
    }
    if (wire::mtu_bytes(req.mtu) == 0) {
        return Rejection{.reason = invalid_mtu, .information = {std::byte{5} << 4}};  // the most there is
    }
    if (!gid_index(req.primary.remote_gid, {})) return Rejection{.reason = primary_gid};
    return std::nullopt;
}

std::optional<EndpointEvent> Manager::accept_connection(const Session::Received& received, Time now) {
    const auto& message = received.message;
    const auto& req = message.as<wire::CmReq>();
    const auto end = RemoteEnd::connection(req.ca_guid, req.local_id);
    // A retransmission may have arrived before the listener was polled.
    if (const auto owner = sessions_.find(connections_.find(end)); owner && owner->takes(message)) {
        owner->push(received.from, message, now);
        return std::nullopt;
    }
    if (const auto rejection = objection(req)) {
        count(Count::rejected_invalid, req.local_id);
        refuse(received.from, message, *rejection, wire::CmAbout::req);
        return std::nullopt;
    }
    const auto share = half_open_.take(PortAddress::of(received.from));
    if (!share) {
        count(Count::rejected_half_open, req.local_id);
        refuse(received.from, message, {.reason = wire::CmRejectReason::no_resources}, wire::CmAbout::req);
        return std::nullopt;
    }
    if (exceeds_limits(req)) count(Count::rx_times_cut, req.local_id);
    auto from = received.from;
    from.path.gid_index = gid_index(req.primary.remote_gid, from).value_or(from.path.gid_index);
    const auto session =
        create_session([&](std::uint32_t id) { return Connection(CommunicationId{id}, options_.ca_guid); });
    session->take_half_open(*share);
    auto endpoint = handle(session);
    Actions actions(*this, session->id());
    if (!actions.claim(RemoteEnd::queue_pair(req.ca_guid, req.primary.local_gid, req.qpn))) {
        count(Count::rejected_stale, session->id());
        refuse(received.from, message, {.reason = wire::CmRejectReason::stale_connection}, wire::CmAbout::req);
        actions.carry_out(now, &received.from);
        return std::nullopt;
    }
    // An old entry's connection is over: the peer has reused its id.
    for (auto owner = connections_.insert(end, session->id());
         owner != session->id() && !connections_.replace(end, owner, session->id());) {
        owner = connections_.insert(end, session->id());
    }
    Request request;
    (void)session->step<Connection>(now, [&](Connection& connection, Actions&) -> Result<void> {
        session->in_connections_ = true;
        request = connection.accept(message, from, now);
        return {};
    });
    return RequestReceived{.endpoint = std::move(endpoint), .request = std::move(request), .from = from};
}

std::optional<EndpointEvent> Manager::accept_datagram(const Session::Received& received, Time now) {
    const auto& message = received.message;
    const auto& address = received.from.path.address;
    const auto end = RemoteEnd::datagram_request(address.dgid, address.dlid, message.sender_id());
    if (const auto owner = sessions_.find(datagram_requests_.find(end))) {
        owner->push(received.from, message, now);
        return std::nullopt;
    }
    const auto share = half_open_.take(PortAddress::of(received.from));
    if (!share) {
        count(Count::rejected_half_open, message.sender_id());
        const auto service = message.as<wire::CmSidrReq>().service;
        const wire::CmSidrRep full{
            .request_id = message.sender_id(), .status = wire::SidrStatus::no_qp, .service = service};
        answer(received.from, message, full);
        return std::nullopt;
    }
    const auto session = create_session([&](std::uint32_t id) { return Sidr(CommunicationId{id}); });
    session->take_half_open(*share);
    auto endpoint = handle(session);
    ServiceRequest request;
    (void)session->step<Sidr>(now, [&](Sidr& sidr, Actions&) -> Result<void> {
        request = sidr.accept(message, received.from, now);
        return {};
    });
    datagram_requests_.insert(end, session->id());
    return ServiceRequestReceived{
        .endpoint = std::move(endpoint), .request = std::move(request), .from = received.from};
}

}  // namespace verbline::cm
