// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <utility>

#include "control/rdmacm/path.h"
#include "control/rdmacm/service_core.h"

// Listeners, and the ids created for incoming requests.

namespace verbline::rdmacm {
namespace {

constexpr unsigned default_backlog = 1024;  ///< and the most; also how many more may wait

wire::CmServiceId service_of(const Id& id) {
    return service_id(id.bound->space, id.bound->number);
}

/// An address of ours that is in another partition than the request: nobody is there at that, as on interfaces of the
/// kernel.
bool misses_partition(const IncomingRequest& request) {
    if (!request.ends) return false;
    const auto facts = request.port->facts();
    if (facts.kind != link::GidTable::Kind::ib) return false;
    const auto& addresses = facts.addresses;
    const auto own = std::ranges::find(addresses, request.ends->destination.gid, &link::InterfaceAddress::gid);
    return own != addresses.end() && wire::partition(own->pkey) != wire::partition(request.pkey());
}

}  // namespace

Result<void> ServiceCore::listen(IdNumber number, int backlog, Time now) {
    const auto found = find(number);
    if (!found) return std::unexpected(found.error());
    Id& id = **found;
    if (id.state == IdState::idle) {
        if (auto bound = bind_source(id, {.gid = SocketAddress::any_ipv4()}, now); !bound) return bound;
    }
    if (id.state != IdState::addr_bound) return failure(EINVAL, "an id that is connecting or listening cannot listen");
    const bool reused = id.reuse_address;
    if (auto alone = bindings_.listen(id); !alone) return alone;
    for (NetworkPort* port : ports_of(id)) {
        if (auto listening = listen_on(id, *port, now); !listening) {
            stop_listening(id);
            id.reuse_address = reused;
            bindings_.update(id);
            return listening;
        }
    }
    id.backlog.room = backlog <= 0 ? default_backlog : std::min(static_cast<unsigned>(backlog), default_backlog);
    become(id, IdState::listen, now);
    return {};
}

Result<void> ServiceCore::listen_on(Id& id, NetworkPort& port, Time now) {
    const ListenerKey key{&port, service_of(id)};
    auto& listener = listeners_[key];
    if (!listener.endpoint) {
        auto endpoint = port.manager().listen(key.second, ~std::uint64_t{0}, now);
        if (!endpoint) {
            listeners_.erase(key);
            return std::unexpected(endpoint.error());
        }
        listener.endpoint = *std::move(endpoint);
        listener_keys_.emplace(listener.endpoint.get(), key);
    }
    ++listener.users;
    id.listening_on.push_back(&port);
    return {};
}

void ServiceCore::stop_listening(Id& id) {
    while (!id.listening_on.empty()) stop_listening(id, *id.listening_on.back());
    for (const auto& waiting : std::exchange(id.backlog.waiting, {}))
        waiting.request.refuse(wire::CmRejectReason::invalid_service_id, now_);
    id.backlog.places.reset();
}

void ServiceCore::stop_listening(Id& id, NetworkPort& port) {
    if (std::erase(id.listening_on, &port) == 0) return;
    const auto found = listeners_.find({&port, service_of(id)});
    if (--found->second.users != 0) return;
    listener_keys_.erase(found->second.endpoint.get());
    listeners_.erase(found);
}

void ServiceCore::drain_listener(const ListenerKey& key, cm::Endpoint& endpoint, Time now) {
    while (auto event = endpoint.poll(now)) {
        if (auto* request = std::get_if<cm::RequestReceived>(&*event))
            requested({.port = key.first, .what = std::move(*request)}, now);
        else if (auto* service = std::get_if<cm::ServiceRequestReceived>(&*event))
            requested({.port = key.first, .what = std::move(*service)}, now);
    }
}

void ServiceCore::requested(IncomingRequest request, Time now) {
    counters_.rx_requests.add();
    request.ends = parse_header(request.private_data());
    Id* const listener = misses_partition(request) ? nullptr : listener_of(request);
    if (!listener) {
        (request.ends ? counters_.rx_requests_no_listener : counters_.rx_requests_malformed).add();
        return request.refuse(request.ends ? wire::CmRejectReason::invalid_service_id : wire::CmRejectReason::consumer,
                              now);
    }
    if (listener->source.family != Family::ib && !request.ends) {
        counters_.rx_requests_malformed.add();
        return request.refuse(wire::CmRejectReason::consumer, now);
    }
    if (request.type() != listener->type) {
        counters_.rx_requests_wrong_type.add();
        return request.refuse(wire::CmRejectReason::invalid_transport, now);
    }
    if (listener->backlog.room != 0) return admit(*listener, std::move(request), now);
    auto& backlog = listener->backlog;
    if (!backlog.places) backlog.places = std::make_unique<cm::Shares>(default_backlog, random_());
    const auto share = backlog.places->take(request.sender());
    if (!share) {
        counters_.rx_requests_backlog_full.add();
        return request.refuse(wire::CmRejectReason::no_resources, now);
    }
    counters_.rx_requests_waiting.add();
    backlog.waiting.push_back({.request = std::move(request), .share = *share});
}

Id* ServiceCore::listener_of(const IncomingRequest& request) const {
    const auto service = static_cast<std::uint64_t>(request.service());
    const BoundPort bound{static_cast<PortSpace>(service >> 16), static_cast<std::uint16_t>(service)};
    const auto destination = request.ends ? std::optional(request.ends->destination) : std::nullopt;
    Id* best = nullptr;
    auto how = Suits::no;
    for (Id* id : bindings_.users(bound)) {
        const bool there = std::ranges::find(id->listening_on, request.port) != id->listening_on.end();
        const auto suits = there ? rdmacm::suits(use_of(*id), destination) : Suits::no;
        if (suits <= how) continue;
        best = id;
        how = suits;
    }
    return best;
}

void ServiceCore::admit(Id& listener, IncomingRequest request, Time now) {
    --listener.backlog.room;
    Id& child = child_of(listener, request, now);
    const bool ip = listener.source.family != Family::ib;
    CmEvent event{.kind = EventKind::connect_request,
                  .id = child.number,
                  .listener = listener.number,
                  .user = listener.user,
                  .datagram = request.datagram()};
    auto user_data = ip ? without_header(request.private_data()) : request.private_data();
    if (const auto* connection = std::get_if<cm::RequestReceived>(&request.what)) {
        const auto& req = connection->request;
        event.connect = {.qpn = req.qpn,
                         .qkey = req.qkey,
                         .shared_receive_queue = req.shared_receive_queue,
                         // The peer's initiator depth is our responder resources, and vice versa.
                         .responder_resources = req.initiator_depth,
                         .initiator_depth = req.responder_resources,
                         .flow_control = req.flow_control,
                         .retry_count = req.retry_count,
                         .rnr_retry_count = req.rnr_retry_count,
                         .private_data = std::move(user_data)};
    } else {
        event.ud = {.path = child.connection.path.route, .private_data = std::move(user_data)};
    }
    // The user owns the child once it has taken the event; until then the listener counts it.
    emit(listener, std::move(event));
    drain(child, now);
}

void ServiceCore::admit_waiting(Id& listener, Time now) {
    while (listener.backlog.room != 0 && !listener.backlog.waiting.empty()) {
        auto [request, share] = std::move(listener.backlog.waiting.front());
        listener.backlog.waiting.pop_front();
        listener.backlog.places->give_back(share);
        admit(listener, std::move(request), now);
    }
}

Id& ServiceCore::child_of(Id& listener, const IncomingRequest& request, Time now) {
    Id* child = find(create_id(*listener.queue, 0, listener.bound->space, listener.type)).value();
    child->named = false;
    child->type_of_service = listener.type_of_service;
    child->port = request.port;
    auto& connection = child->connection;
    connection.path = request.path();
    connection.pkey = request.pkey();
    child->gid_index = connection.path.route.gid_index;
    child->mac = connection.path.route.mac;
    if (listener.source.family == Family::ib) {
        child->source = listener.source;
        child->source.gid = connection.path.local_gid;
        child->destination = {.family = Family::ib, .gid = connection.path.remote_gid};
    } else {
        child->source = request.ends->destination;
        child->source.port = listener.source.port;
        child->destination = request.ends->source;
    }
    const auto facts = request.port->facts();
    child->lid = facts.lid;
    child->source_gid =
        connection.path.local_gid != wire::Gid{} ? connection.path.local_gid : wire_gid(facts, child->source.gid);
    connection.path.local_gid = child->source_gid;
    child->destination_gid = connection.path.remote_gid;
    connection.mtu = facts.mtu;
    if (const auto* received = std::get_if<cm::RequestReceived>(&request.what)) {
        const auto& req = received->request;
        connection.remote = req.qpn;
        connection.send_psn = req.psn;
        connection.mtu = req.mtu;
        connection.responder_resources = req.initiator_depth;
        connection.initiator_depth = req.responder_resources;
        connection.retry_count = req.retry_count;
        connection.rnr_retry_count = req.rnr_retry_count;
        connection.timeout = static_cast<std::uint8_t>(std::min(connection.path.packet_lifetime + 1, 31));
        if (req.alternate) child->paths.push_back(to_record(*req.alternate, req.pkey, req.mtu));
    }
    child->paths.insert(child->paths.begin(), to_record(connection.path, connection.pkey, connection.mtu));
    ids_.attach(*child, request.endpoint());
    become(*child, IdState::connect, now);
    return *child;
}

}  // namespace verbline::rdmacm
