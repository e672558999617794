// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/session_endpoint.h"

#include "control/cm/core.h"

namespace verbline::cm {

SessionEndpoint::~SessionEndpoint() {
    session_->abandon(core_->latest());
}

std::optional<Event> SessionEndpoint::poll(Time now) {
    core_->saw(now);
    return session_->poll(now);
}

Result<void> SessionEndpoint::reply(const Reply& reply, Time now) {
    core_->saw(now);
    return session_->step<Connection>(
        now, [&](Connection& connection, Turn& turn) { return connection.reply(reply, now, turn); });
}

Result<void> SessionEndpoint::ready_to_use(const PrivateData& private_data, Time now) {
    core_->saw(now);
    return session_->step<Connection>(
        now, [&](Connection& connection, Turn& turn) { return connection.ready_to_use(private_data, now, turn); });
}

Result<void> SessionEndpoint::reject(const Rejection& rejection, Time now) {
    core_->saw(now);
    return session_->step<Connection>(
        now, [&](Connection& connection, Turn& turn) { return connection.reject(rejection, now, turn); });
}

Result<void> SessionEndpoint::decline(const Rejection& rejection, Time now) {
    core_->saw(now);
    return session_->step<Connection>(
        now, [&](Connection& connection, Turn& turn) { return connection.decline(rejection, now, turn); });
}

Result<void> SessionEndpoint::decline(const ServiceReply& reply, Time now) {
    core_->saw(now);
    return session_->step<Sidr>(now, [&](Sidr& sidr, Turn& turn) { return sidr.decline(reply, now, turn); });
}

Result<void> SessionEndpoint::delay(std::uint8_t service_timeout, const PrivateData& private_data, Time now) {
    core_->saw(now);
    return session_->step<Connection>(now, [&](Connection& connection, Turn& turn) {
        return connection.delay(service_timeout, private_data, now, turn);
    });
}

Result<void> SessionEndpoint::established(Time now) {
    core_->saw(now);
    return session_->step<Connection>(now, [&](Connection& connection, Turn&) { return connection.established(now); });
}

Result<void> SessionEndpoint::disconnect(const PrivateData& private_data, Time now) {
    core_->saw(now);
    return session_->step<Connection>(
        now, [&](Connection& connection, Turn& turn) { return connection.disconnect(private_data, now, turn); });
}

Result<void> SessionEndpoint::load_alternate(const Path& alternate, const PrivateData& private_data, Time now) {
    core_->saw(now);
    return session_->step<Connection>(now, [&](Connection& connection, Turn& turn) {
        return connection.load_alternate(alternate, private_data, now, turn);
    });
}

Result<void> SessionEndpoint::reply_alternate(const AlternateReply& reply, Time now) {
    core_->saw(now);
    return session_->step<Connection>(
        now, [&](Connection& connection, Turn& turn) { return connection.reply_alternate(reply, now, turn); });
}

Result<void> SessionEndpoint::respond(const ServiceReply& reply, Time now) {
    core_->saw(now);
    return session_->step<Sidr>(now, [&](Sidr& sidr, Turn& turn) { return sidr.respond(reply, now, turn); });
}

}  // namespace verbline::cm
