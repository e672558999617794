// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/endpoint.h"

#include <utility>

#include "control/cm/manager.h"

namespace verbline::cm {

Endpoint::Endpoint(std::shared_ptr<Manager> manager, Reference<Session> session)
    : manager_(std::move(manager)), session_(std::move(session)) {}

Endpoint::~Endpoint() {
    session_->abandon(manager_->latest());
}

CommunicationId Endpoint::local_id() const {
    return CommunicationId{session_->id()};
}

CommunicationId Endpoint::remote_id() const {
    return session_->remote_id();
}

ConnectionState Endpoint::state() const {
    return session_->state();
}

std::optional<EndpointEvent> Endpoint::poll(Time now) {
    manager_->saw(now);
    return session_->poll(now);
}

Result<void> Endpoint::reply(const Reply& reply, Time now) {
    manager_->saw(now);
    return session_->step<Connection>(
        now, [&](Connection& connection, Actions& actions) { return connection.reply(reply, now, actions); });
}

Result<void> Endpoint::ready_to_use(const PrivateData& private_data, Time now) {
    manager_->saw(now);
    return session_->step<Connection>(now, [&](Connection& connection, Actions& actions) {
        return connection.ready_to_use(private_data, now, actions);
    });
}

Result<void> Endpoint::reject(const Rejection& rejection, Time now) {
    manager_->saw(now);
    return session_->step<Connection>(
        now, [&](Connection& connection, Actions& actions) { return connection.reject(rejection, now, actions); });
}

Result<void> Endpoint::decline(const Rejection& rejection, Time now) {
    manager_->saw(now);
    return session_->step<Connection>(
        now, [&](Connection& connection, Actions& actions) { return connection.decline(rejection, now, actions); });
}

Result<void> Endpoint::decline(const ServiceReply& reply, Time now) {
    manager_->saw(now);
    return session_->step<Sidr>(now, [&](Sidr& sidr, Actions& actions) { return sidr.decline(reply, now, actions); });
}

Result<void> Endpoint::delay(std::uint8_t service_timeout, const PrivateData& private_data, Time now) {
    manager_->saw(now);
    return session_->step<Connection>(now, [&](Connection& connection, Actions& actions) {
        return connection.delay(service_timeout, private_data, now, actions);
    });
}

Result<void> Endpoint::established(Time now) {
    manager_->saw(now);
    return session_->step<Connection>(now,
                                      [&](Connection& connection, Actions&) { return connection.established(now); });
}

Result<void> Endpoint::disconnect(const PrivateData& private_data, Time now) {
    manager_->saw(now);
    return session_->step<Connection>(now, [&](Connection& connection, Actions& actions) {
        return connection.disconnect(private_data, now, actions);
    });
}

Result<void> Endpoint::load_alternate(const ConnectionPath& alternate, const PrivateData& private_data, Time now) {
    manager_->saw(now);
    return session_->step<Connection>(now, [&](Connection& connection, Actions& actions) {
        return connection.load_alternate(alternate, private_data, now, actions);
    });
}

Result<void> Endpoint::reply_alternate(const AlternateReply& reply, Time now) {
    manager_->saw(now);
    return session_->step<Connection>(
        now, [&](Connection& connection, Actions& actions) { return connection.reply_alternate(reply, now, actions); });
}

Result<void> Endpoint::respond(const ServiceReply& reply, Time now) {
    manager_->saw(now);
    return session_->step<Sidr>(now, [&](Sidr& sidr, Actions& actions) { return sidr.respond(reply, now, actions); });
}

}  // namespace verbline::cm
