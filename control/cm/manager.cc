// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/manager.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace verbline::cm {

Manager::Manager(Options options, mad::GmpChannel& channel)
    : options_(std::move(options)),
      channel_(channel),
      connections_(options_.seed),
      queue_pairs_(options_.seed + 1),
      peers_(options_.seed + 2),
      datagram_requests_(options_.seed + 3),
      half_open_(options_.most_half_open, options_.seed + 4),
      closing_(options_.most_closing, options_.seed + 5),
      early_(options_.seed + 6),
      sessions_(static_cast<std::uint32_t>(options_.seed ^ options_.seed >> 32), options_.ids) {}

void Manager::saw(Time now) {
    auto latest = latest_.load(std::memory_order_relaxed);
    while (latest < now && !latest_.compare_exchange_weak(latest, now, std::memory_order_relaxed)) {}
}

Manager::Pointer Manager::create(Options options, mad::GmpChannel& channel) {
    std::shared_ptr<Manager> manager(new Manager(std::move(options), channel));
    auto* const self = manager.get();
    return {self, Close(std::move(manager))};
}

void Manager::Close::operator()(Manager* manager) {
    manager->close();
    manager_.reset();
}

EndpointPointer Manager::handle(const Reference<Session>& session) {
    auto endpoint = std::make_shared<Endpoint>(shared_from_this(), session);
    session->attach(endpoint);
    return endpoint;
}

Result<EndpointPointer> Manager::connect(const Request& request, Time now) {
    saw(now);
    if (auto result = fits(request); !result) return std::unexpected(result.error());
    const auto session =
        create_session([&](std::uint32_t id) { return Connection(CommunicationId{id}, options_.ca_guid); });
    auto endpoint = handle(session);
    if (request.peer_to_peer) {
        const auto peer = RemoteEnd::peer(request.service, request.primary.remote_gid);
        if (peers_.insert(peer, session->id()) != session->id()) {
            return failure(EADDRINUSE, "another endpoint connects to this peer for this service; wait for it to end");
        }
    }
    (void)session->step<Connection>(now, [&](Connection& connection, Actions& actions) -> Result<void> {
        session->in_peers_ = request.peer_to_peer;
        connection.connect(request, now, actions);
        return {};
    });
    return endpoint;
}

Result<EndpointPointer> Manager::resolve(const ServiceRequest& request, Time now) {
    saw(now);
    if (auto result = fits(request); !result) return std::unexpected(result.error());
    const auto session = create_session([&](std::uint32_t id) { return Sidr(CommunicationId{id}); });
    auto endpoint = handle(session);
    (void)session->step<Sidr>(now, [&](Sidr& sidr, Actions& actions) -> Result<void> {
        sidr.resolve(request, now, actions);
        return {};
    });
    return endpoint;
}

Result<EndpointPointer> Manager::listen(wire::CmServiceId service, std::uint64_t mask, Time now) {
    saw(now);
    const auto session = create_session(
        [&](std::uint32_t) { return Session::Listener{.service = service, .mask = mask, .since = now}; });
    auto endpoint = handle(session);
    if (!listeners_.insert(service, mask, session->id())) {
        return failure(EADDRINUSE, "another endpoint listens for some of these service ids; choose others");
    }
    session->state_ = ConnectionState::listen;
    for (const auto& [from, request] : early_.take(service, mask)) session->push(from, request, now);
    return endpoint;
}

void Manager::retire(Session& session) {
    if (const auto* const listener = std::get_if<Session::Listener>(&session.machine_)) {
        listeners_.erase(listener->service, listener->mask, session.id());
    }
    sessions_.erase(session.id());
}

void Manager::tick(Time now) {
    saw(now);
    for (const auto& session : timers_.due(now)) session->due(now);
    // A listener may have come between the lookup of one and its being kept.
    for (const auto& [from, request] : early_.expired(now))
        if (!to_listener(request, from, now)) refuse_unserved(request, from);
}

std::optional<Time> Manager::deadline() const {
    auto soonest = timers_.deadline();
    if (const auto early = early_.deadline()) soonest = std::min(soonest.value_or(*early), *early);
    return soonest;
}

void Manager::close() {
    closed_.store(true, std::memory_order_release);
    for (const auto& session : sessions_.all()) sessions_.erase(session->id());
}

std::uint32_t Manager::claim(const RemoteEnd& queue_pair, std::uint32_t id) {
    for (;;) {
        const auto owner = queue_pairs_.insert(queue_pair, id);
        if (owner == id) return id;
        // A session that is closed or closing no longer needs the queue pair.
        const auto session = sessions_.find(owner);
        if (session && open(session->state())) return owner;
        if (queue_pairs_.replace(queue_pair, owner, id)) return id;
    }
}

void Manager::repeat_disconnects(Time now) {
    for (const auto& session : sessions_.all()) {
        if (session->state() != ConnectionState::dreq_sent) continue;
        std::ignore = session->step<Connection>(now, [](Connection& connection, Actions& actions) {
            connection.repeat_disconnect(actions);
            return Result<void>();
        });
    }
}

std::vector<Manager::Shown> Manager::show() const {
    std::vector<Shown> rows;
    for (const auto& session : sessions_.all()) rows.push_back(session->shown());
    return rows;
}

void Manager::counters(const CounterVisitor& visit) const {
    counters_.each(visit);
    visit("half_open", half_open_.taken(), "requests of peers half open now");
    visit("closing", closing_.taken(), "dropped endpoints that still close, or refuse what comes again");
}

}  // namespace verbline::cm
