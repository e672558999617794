// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <utility>

#include "control/rdmacm/path.h"
#include "control/rdmacm/service_core.h"

// Calls on connections; datagram services (SIDR) use the same calls.

namespace verbline::rdmacm {
namespace {

constexpr std::uint8_t most_retries = 7;  ///< three bits

/// Service id of the destination: made of port space and port, or given by AF_IB users.
wire::CmServiceId asked_service(const Id& id) {
    if (id.destination.family == Family::ib) return wire::CmServiceId{id.destination.service_id};
    return service_id(id.space, id.destination.port);
}

cm::Transport transport_of(QueuePairType type) {
    switch (type) {
        case QueuePairType::uc: return cm::Transport::uc;
        case QueuePairType::xrc_initiator:
        case QueuePairType::xrc_target: return cm::Transport::xrc;
        default: return cm::Transport::rc;
    }
}

}  // namespace

Result<void> ServiceCore::connect(IdNumber number, const ConnectParameters& parameters, Time now) {
    const auto found = find(number);
    if (!found) return std::unexpected(found.error());
    Id& id = **found;
    if (id.state != IdState::route_resolved) return failure(EINVAL, "resolve the id's route before connecting it");
    id.connection.path = to_cm_path(id.paths.front(), id.port->facts().kind, id.gid_index, id.mac);
    auto endpoint = id.datagram() ? request_service(id, parameters, now) : request_connection(id, parameters, now);
    if (!endpoint) return std::unexpected(endpoint.error());
    ids_.attach(id, *std::move(endpoint));
    become(id, IdState::connect, now);
    return {};
}

Result<cm::EndpointPointer> ServiceCore::request_connection(Id& id, const ConnectParameters& parameters, Time now) {
    auto data = with_header(id.source, id.destination, parameters.private_data, request_data_size);
    if (!data) return std::unexpected(data.error());
    const auto& path = id.paths.front();
    auto& connection = id.connection;
    connection.mtu = static_cast<std::uint8_t>(path.mtu);
    connection.pkey = path.pkey;
    connection.responder_resources = parameters.responder_resources;
    connection.initiator_depth = parameters.initiator_depth;
    connection.retry_count = std::min(parameters.retry_count, most_retries);
    connection.rnr_retry_count = std::min(parameters.rnr_retry_count, most_retries);
    connection.timeout = static_cast<std::uint8_t>(std::min(connection.path.packet_lifetime + 1, 31));
    cm::Request request{.primary = connection.path,
                        .service = asked_service(id),
                        .transport = transport_of(id.type),
                        .qpn = parameters.qpn,
                        .psn = connection.receive_psn,
                        .pkey = connection.pkey,
                        .mtu = connection.mtu,
                        .responder_resources = connection.responder_resources,
                        .initiator_depth = connection.initiator_depth,
                        .retry_count = connection.retry_count,
                        .rnr_retry_count = connection.rnr_retry_count,
                        .shared_receive_queue = parameters.shared_receive_queue,
                        .flow_control = parameters.flow_control,
                        .private_data = *std::move(data)};
    if (id.paths.size() > 1) request.alternate = to_cm_path(id.paths[1], id.port->facts().kind, id.gid_index, id.mac);
    return id.port->manager().connect(request, now);
}

Result<cm::EndpointPointer> ServiceCore::request_service(Id& id, const ConnectParameters& parameters, Time now) {
    auto data = with_header(id.source, id.destination, parameters.private_data, service_request_data_size);
    if (!data) return std::unexpected(data.error());
    return id.port->manager().resolve({.path = id.connection.path,
                                       .service = asked_service(id),
                                       .pkey = id.paths.front().pkey,
                                       .private_data = *std::move(data)},
                                      now);
}

Result<void> ServiceCore::accept(IdNumber number, std::uint64_t user,
                                 const std::optional<ConnectParameters>& parameters, Time now) {
    const auto found = find(number);
    if (!found) return std::unexpected(found.error());
    Id& id = **found;
    now_ = now;
    if (id.state != IdState::connect || !id.connection.endpoint)
        return failure(EINVAL, "no connection request is pending on this id");
    if (!parameters && !id.datagram()) return id.connection.endpoint->ready_to_use({}, now);
    const auto answer = parameters.value_or(ConnectParameters{});
    if (auto sent = id.datagram() ? accept_datagram(id, answer, now) : accept_connection(id, answer, now); !sent)
        return sent;
    id.user = user;
    id.named = true;
    return {};
}

Result<void> ServiceCore::accept_connection(Id& id, const ConnectParameters& parameters, Time now) {
    auto& connection = id.connection;
    const cm::Reply reply{.qpn = parameters.qpn,
                          .qkey = parameters.qkey,
                          .psn = connection.receive_psn,
                          .responder_resources = parameters.responder_resources,
                          .initiator_depth = parameters.initiator_depth,
                          .rnr_retry_count = std::min(parameters.rnr_retry_count, most_retries),
                          .shared_receive_queue = parameters.shared_receive_queue,
                          .flow_control = parameters.flow_control,
                          .private_data = parameters.private_data};
    if (auto sent = connection.endpoint->reply(reply, now); !sent) return sent;
    connection.responder_resources = parameters.responder_resources;
    connection.initiator_depth = parameters.initiator_depth;
    return {};
}

Result<void> ServiceCore::accept_datagram(Id& id, const ConnectParameters& parameters, Time now) {
    // Ids with IP addresses use the port space's Q_Key.
    if (id.source.family == Family::ib && parameters.qkey != wire::QKey{} && !use_qkey(id, parameters.qkey))
        return failure(EINVAL, "the id has another Q_Key already");
    const auto qkey = default_qkey(id);
    if (!qkey) return std::unexpected(qkey.error());
    return id.connection.endpoint->respond({.status = wire::SidrStatus::valid,
                                            .qpn = parameters.qpn,
                                            .qkey = *qkey,
                                            .private_data = parameters.private_data},
                                           now);
}

Result<void> ServiceCore::reject(IdNumber number, const cm::PrivateData& data, wire::CmRejectReason reason, Time now) {
    const auto found = find(number);
    if (!found) return std::unexpected(found.error());
    Id& id = **found;
    now_ = now;
    if (!id.connection.endpoint) return failure(EINVAL, "no connection request is pending on this id");
    if (id.datagram())
        return id.connection.endpoint->respond({.status = wire::SidrStatus::rejected, .private_data = data}, now);
    if (reason == wire::CmRejectReason{}) reason = wire::CmRejectReason::consumer;
    return id.connection.endpoint->reject({.reason = reason, .private_data = data}, now);
}

Result<void> ServiceCore::disconnect(IdNumber number, Time now) {
    const auto found = find(number);
    if (!found) return std::unexpected(found.error());
    Id& id = **found;
    now_ = now;
    if (!id.connection.endpoint) return failure(EINVAL, "the id is not connected");
    // Disconnecting after, or at the same time as, the peer is no error.
    (void)id.connection.endpoint->disconnect({}, now);
    drain(id, now);
    return {};
}

Result<void> ServiceCore::notify_established(IdNumber number, Time now) {
    const auto found = find(number);
    if (!found) return std::unexpected(found.error());
    Id& id = **found;
    now_ = now;
    if (!id.connection.endpoint || id.datagram()) return failure(EINVAL, "the id is not connecting");
    if (id.connection.established) return failure(EISCONN, "the id is connected already");
    if (auto done = id.connection.endpoint->established(now); !done) return done;
    drain(id, now);
    if (std::exchange(id.connection.established, true)) return {};
    emit(id, EventKind::established);
    return {};
}

}  // namespace verbline::rdmacm
