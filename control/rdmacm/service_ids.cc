// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "control/rdmacm/service_core.h"

// Ids, their events and their options.

namespace verbline::rdmacm {
namespace {

/// The id that counts an event and on whose destruction it is dropped. A connect_request is the listener's.
IdNumber owner(const CmEvent& event) {
    return event.kind == EventKind::connect_request ? event.listener : event.id;
}

}  // namespace

std::unique_ptr<Service> Service::create(std::vector<NetworkPort*> ports, std::uint64_t seed) {
    return std::make_unique<ServiceCore>(std::move(ports), seed);
}

ServiceCore::~ServiceCore() {
    std::vector<IdNumber> all;
    ids_.each([&](const Id& id) { all.push_back(id.number); });
    for (const auto number : all)
        if (Id* id = ids_.find(number)) destroy(*id, now_);
}

IdNumber ServiceCore::create_id(EventQueue& queue, std::uint64_t user, PortSpace space, QueuePairType type) {
    Id& id = ids_.create(queue, user, space, type);
    id.since = now_;
    id.connection.receive_psn = wire::Psn{static_cast<std::uint32_t>(random_())};
    return id.number;
}

Result<std::uint32_t> ServiceCore::destroy_id(IdNumber number, Time now) {
    const auto id = find(number);
    if (!id) return std::unexpected(id.error());
    const auto reported = (*id)->reported;
    destroy(**id, now);
    return reported;
}

/// Releases all that the id holds; the connection is closed in the background.
void ServiceCore::destroy(Id& id, Time now) {
    now_ = now;
    const auto children = drop_unseen(id);
    if (id.ticket != 0 && id.port) id.port->cancel(id.ticket);
    for (const auto group : id.groups) {
        leave_port(groups_.at(group));
        groups_.erase(group);
    }
    stop_listening(id);
    bindings_.release(id);
    ids_.erase(id);
    for (const auto child : children)
        if (Id* unseen = ids_.find(child)) destroy(*unseen, now);
}

/// Removes its events from its queue. Returns the ids of dropped connect requests, which no user knows.
std::vector<IdNumber> ServiceCore::drop_unseen(Id& id) {
    std::vector<IdNumber> children;
    if (id.waiting == 0) return children;
    counters_.events_unseen.add(id.waiting);
    id.waiting = 0;
    std::erase_if(id.queue->events, [&](const CmEvent& event) {
        if (owner(event) != id.number) return false;
        if (event.kind == EventKind::connect_request) children.push_back(event.id);
        return true;
    });
    return children;
}

Result<std::uint32_t> ServiceCore::migrate(IdNumber number, EventQueue& queue) {
    const auto found = find(number);
    if (!found) return std::unexpected(found.error());
    Id& id = **found;
    if (id.queue == &queue) return id.reported;
    auto& before = id.queue->events;
    ids_.move(id, queue);
    if (id.waiting == 0) return id.reported;
    for (auto& event : before) {
        if (owner(event) != number) continue;
        if (event.kind == EventKind::connect_request)
            if (Id* child = ids_.find(event.id)) ids_.move(*child, queue);
        queue.events.push_back(event);
        if (queue.on_event) queue.on_event();
    }
    std::erase_if(before, [&](const CmEvent& event) { return owner(event) == number; });
    return id.reported;
}

std::optional<CmEvent> ServiceCore::take_event(EventQueue& queue) {
    if (queue.events.empty()) return std::nullopt;
    CmEvent event = std::move(queue.events.front());
    queue.events.pop_front();
    if (const auto group = groups_.find(event.group); group != groups_.end()) ++group->second.reported;
    if (Id* id = ids_.find(owner(event))) {
        ++id->reported;
        --id->waiting;
        if (event.kind == EventKind::connect_request) {
            ++id->backlog.room;
            admit_waiting(*id, now_);
        }
    }
    return event;
}

void ServiceCore::close(EventQueue& queue, Time now) {
    queue.events.clear();
    for (const auto number : ids_.of(queue))
        if (Id* id = ids_.find(number)) destroy(*id, now);
}

void ServiceCore::emit(Id& id, CmEvent event) {
    // The user does not know a listener's child yet; if its peer gave up, accept fails.
    if (!id.named && event.kind != EventKind::connect_request) return;
    ++id.waiting;
    id.queue->events.push_back(std::move(event));
    if (id.queue->on_event) id.queue->on_event();
}

void ServiceCore::emit(Id& id, EventKind kind, int status) {
    emit(id, {.kind = kind, .id = id.number, .user = id.user, .status = status, .datagram = id.datagram()});
}

Result<void> ServiceCore::set_option(IdNumber number, Option option, std::uint8_t value) {
    const auto found = find(number);
    if (!found) return std::unexpected(found.error());
    Id& id = **found;
    switch (option) {
        case Option::type_of_service: id.type_of_service = value; return {};
        case Option::reuse_address:
            if (id.state == IdState::listen)
                return failure(EINVAL, "a listener has its address alone: set reuse before");
            id.reuse_address = value != 0;
            bindings_.update(id);
            return {};
        case Option::address_family_only:
            if (id.state != IdState::idle && id.state != IdState::addr_bound)
                return failure(EINVAL, "family-only must be set before the id is used");
            id.family_only = value != 0;
            bindings_.update(id);
            return {};
        case Option::ack_timeout:
            if (id.type != QueuePairType::rc && id.type != QueuePairType::xrc_initiator)
                return failure(EINVAL, "only RC and XRC initiators wait for acknowledgements");
            id.ack_timeout = value & 0x1f;
            return {};
    }
    return failure(ENOSYS, "no such option");
}

Result<ResolvedRoute> ServiceCore::route(IdNumber number) const {
    const Id* id = ids_.find(number);
    if (!id) return failure(ENOENT, fmt::format("there is no id {}", static_cast<std::uint32_t>(number)));
    return ResolvedRoute{.port = id->port,
                         .source = id->source,
                         .destination = id->destination,
                         .paths = id->paths,
                         .source_gid = id->source_gid,
                         .destination_gid = id->destination_gid,
                         .pkey = id->connection.pkey,
                         .space = id->space};
}

std::vector<Service::Shown> ServiceCore::show() const {
    std::vector<Shown> rows;
    rows.reserve(ids_.size());
    ids_.each([&](const Id& id) {
        const auto& endpoint = id.connection.endpoint;
        rows.push_back({.id = id.number,
                        .space = id.space,
                        .state = to_string(id.state),
                        .source = id.source,
                        .destination = id.destination,
                        .local = endpoint ? endpoint->local_id() : cm::CommunicationId{},
                        .since = id.since});
    });
    std::ranges::sort(rows, {}, &Shown::id);
    return rows;
}

Result<Id*> ServiceCore::find(IdNumber number) {
    if (Id* id = ids_.find(number)) return id;
    return failure(ENOENT, fmt::format("there is no id {}", static_cast<std::uint32_t>(number)));
}

void ServiceCore::become(Id& id, IdState state, Time now) {
    now_ = now;
    id.state = state;
    id.since = now;
}

}  // namespace verbline::rdmacm
