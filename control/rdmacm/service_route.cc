// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "control/rdmacm/path.h"
#include "control/rdmacm/service_core.h"

// Route resolution: by the SA on InfiniBand, made locally on RoCE.

namespace verbline::rdmacm {

Result<void> ServiceCore::resolve_route(IdNumber number, Time timeout, Time now) {
    const auto found = find(number);
    if (!found) return std::unexpected(found.error());
    Id& id = **found;
    if (id.state != IdState::addr_resolved) return failure(EINVAL, "resolve the id's address before its route");
    become(id, IdState::route_query, now);
    const auto facts = id.port->facts();
    if (facts.kind == link::GidTable::Kind::roce) {
        RocePath path{.source = id.source_gid,
                      .destination = id.destination_gid,
                      .source_port = id.source.port,
                      .destination_port = id.destination.port,
                      .type_of_service = id.type_of_service.value_or(0)};
        // Inverse of IBTA 12.7.34, for a peer without ACK delay.
        if (id.ack_timeout.value_or(0) != 0) path.packet_lifetime = static_cast<std::uint8_t>(*id.ack_timeout - 1);
        route_resolved(id, {roce_path_record(path, facts)});
        return {};
    }
    const auto ticket = ask(id, timeout, now);
    id.port->find_path(ticket, id.destination_gid, id.connection.pkey,
                       [this, number, ticket](const Result<wire::PathRecord>& path) {
                           Id* asked = answered(number, ticket);
                           if (asked && path) route_resolved(*asked, {*path});
                           if (asked && !path) route_failed(*asked, path.error());
                       });
    return {};
}

Result<void> ServiceCore::set_paths(IdNumber number, std::vector<wire::PathRecord> paths, Time now) {
    const auto found = find(number);
    if (!found) return std::unexpected(found.error());
    Id& id = **found;
    if (id.state != IdState::addr_resolved) return failure(EINVAL, "resolve the id's address before giving it paths");
    if (paths.empty() || paths.size() > 2) return failure(EINVAL, "a route is one path, or one and an alternate");
    now_ = now;
    route_resolved(id, std::move(paths));
    return {};
}

void ServiceCore::route_resolved(Id& id, std::vector<wire::PathRecord> paths) {
    id.paths = std::move(paths);
    become(id, IdState::route_resolved, now_);
    emit(id, EventKind::route_resolved);
}

void ServiceCore::route_failed(Id& id, const Error& error) {
    counters_.route_errors.add();
    become(id, IdState::addr_resolved, now_);
    emit(id, EventKind::route_error, -error.code);
}

}  // namespace verbline::rdmacm
