// SPDX-License-Identifier: BSD-3-Clause
#include "control/rdmacm/incoming.h"

#include "control/cm/endpoint.h"

namespace verbline::rdmacm {

const cm::EndpointPointer& Incoming::endpoint() const {
    return std::visit([](const auto& request) -> const auto& { return request.endpoint; }, what);
}

wire::CmServiceId Incoming::service() const {
    return std::visit([](const auto& received) { return received.request.service; }, what);
}

cm::PortAddress Incoming::sender() const {
    return std::visit([](const auto& received) { return cm::PortAddress::of(received.from); }, what);
}

wire::PKey Incoming::pkey() const {
    return std::visit([](const auto& received) { return received.request.pkey; }, what);
}

const cm::PrivateData& Incoming::private_data() const {
    return std::visit([](const auto& received) -> const auto& { return received.request.private_data; }, what);
}

QueuePairType Incoming::type() const {
    const auto* connection = std::get_if<cm::RequestReceived>(&what);
    if (!connection) return QueuePairType::ud;
    switch (connection->request.transport) {
        case cm::Transport::uc: return QueuePairType::uc;
        case cm::Transport::xrc: return QueuePairType::xrc_target;  // the initiator asks
        case cm::Transport::rc: break;
    }
    return QueuePairType::rc;
}

cm::Path Incoming::path() const {
    if (const auto* connection = std::get_if<cm::RequestReceived>(&what)) return connection->request.primary;
    // SIDR_REQ describes no path: answer along the packet's return path.
    const auto& route = std::get<cm::ServiceRequestReceived>(what).from.path;
    cm::Path path;
    path.route = route;
    path.remote_gid = route.address.dgid;
    path.remote_lid =
        route.address.global && route.address.dlid == wire::Lid{} ? wire::permissive_lid : route.address.dlid;
    path.flow_label = route.address.flow_label;
    path.traffic_class = route.address.traffic_class;
    path.hop_limit = route.address.hop_limit;
    path.sl = route.address.sl;
    path.subnet_local = !route.address.global;
    return path;
}

void Incoming::refuse(wire::CmRejectReason reason, Time now) const {
    if (!datagram()) {
        (void)endpoint()->decline(cm::Rejection{.reason = reason}, now);
        return;
    }
    const bool nobody = reason == wire::CmRejectReason::invalid_service_id;
    const auto status = nobody ? wire::SidrStatus::unsupported_service : wire::SidrStatus::rejected;
    (void)endpoint()->decline(cm::ServiceReply{.status = status}, now);
}

}  // namespace verbline::rdmacm
