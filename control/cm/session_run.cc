// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "control/cm/manager.h"

// Steps of the state machine, and updates of tables and timers after them.

namespace verbline::cm {

std::optional<EndpointEvent> Session::poll(Time now) {
    if (listens_) return poll_listener(now);
    std::unique_lock lock(mutex_);
    Actions actions(manager_, id_);
    while (events_.empty() && run_one(actions, now)) {}
    std::optional<EndpointEvent> event;
    if (events_.empty()) {
        settle(actions, now);  // re-arms a timer that fired early
        ready_reported_ = false;
    } else {
        event = events_.pop_front();
    }
    if (event && std::holds_alternative<RequestReceived>(*event)) {
        std::get<RequestReceived>(*event).endpoint = handle_.lock();
    }
    lock.unlock();
    actions.carry_out(now);
    return event;
}

std::optional<EndpointEvent> Session::poll_listener(Time now) {
    for (;;) {
        std::unique_lock lock(mutex_);
        if (inbox_.empty()) {
            ready_reported_ = false;
            return std::nullopt;
        }
        const auto received = inbox_.pop_front();
        lock.unlock();
        if (auto event = manager_.accept(received, now)) return event;
    }
}

bool Session::machine_due(Time now) const {
    std::optional<Time> deadline;
    if (const auto* const connection = std::get_if<Connection>(&machine_)) deadline = connection->deadline();
    if (const auto* const sidr = std::get_if<Sidr>(&machine_)) deadline = sidr->deadline();
    return deadline && *deadline <= now;
}

bool Session::run_one(Actions& actions, Time now) {
    auto* const connection = std::get_if<Connection>(&machine_);
    if (!inbox_.empty()) {
        run(inbox_.pop_front(), actions, now);
    } else if (std::exchange(stale_, false)) {
        if (connection != nullptr) connection->stale(now, actions);
    } else if (machine_due(now)) {
        if (connection != nullptr) {
            connection->tick(now, actions);
        } else {
            std::get<Sidr>(machine_).tick(now, actions);
        }
    } else {
        return false;
    }
    settle(actions, now);
    return true;
}

void Session::run_all(Actions& actions, Time now) {
    if (listens_) return;
    while (run_one(actions, now)) {}
}

void Session::run(const Received& received, Actions& actions, Time now) {
    const auto& message = received.message;
    if (auto* const sidr = std::get_if<Sidr>(&machine_)) return sidr->receive(message, received.from, now, actions);
    auto& connection = std::get<Connection>(machine_);
    // Peer to peer: the peer's REQ for the service of ours; one side becomes passive.
    if (message.attribute() == wire::CmAttribute::req && connection.peer_to_peer() &&
        connection.remote() == CommunicationId{}) {
        if (auto request = connection.match(message, received.from, now, actions)) {
            actions.emit(RequestReceived{.endpoint = nullptr, .request = std::move(*request), .from = received.from});
        }
        return;
    }
    connection.receive(message, received.from, now, actions);
}

void Session::settle(Actions& actions, Time now) {
    if (abandoned_) actions.events().clear();
    for (auto& event : actions.events()) events_.emplace_back(std::move(event));
    actions.events().clear();
    if (const auto* const connection = std::get_if<Connection>(&machine_)) {
        state_.store(connection->state(), std::memory_order_release);
        settle_connection(*connection);
        settle_place(connection->half_open());
        settle_timer(connection->deadline(), now);
    } else if (const auto* const sidr = std::get_if<Sidr>(&machine_)) {
        state_.store(sidr->state(), std::memory_order_release);
        if (sidr->state() == ConnectionState::idle) manager_.datagram_requests().erase(sidr->remote_request(), id_);
        settle_place(sidr->half_open());
        settle_timer(sidr->deadline(), now);
    }
}

/// Returns a slot that is no longer needed.
void Session::settle_place(bool half_open) {
    if (place_ == Place::half_open && !half_open) {
        manager_.half_open().give_back(share_);
    } else if (place_ == Place::closing && state() == ConnectionState::idle) {
        manager_.closing().give_back(share_);
    } else {
        return;
    }
    place_ = Place::none;
}

/// A dropped endpoint closes in the background if its peer's port has a slot left; else it ends now. The first REJ or
/// DREQ has been sent, and later messages of the peer are treated as of an unknown connection.
void Session::close_within_limits(Actions& actions, Time now) {
    if (listens_ || state() == ConnectionState::idle) return;
    auto* const connection = std::get_if<Connection>(&machine_);
    auto* const sidr = std::get_if<Sidr>(&machine_);
    const auto share = manager_.closing().take(connection != nullptr ? connection->peer_port() : sidr->peer_port());
    if (share) {
        place_ = Place::closing;
        share_ = *share;
        return;
    }
    manager_.count(Count::closings_cut_short, id_);
    if (connection != nullptr) connection->forget(now);
    if (sidr != nullptr) sidr->forget(now);
    settle(actions, now);
}

void Session::settle_connection(const Connection& connection) {
    const auto state = connection.state();
    if (state == ConnectionState::idle) {
        if (std::exchange(in_connections_, false)) manager_.connections().erase(connection.remote_connection(), id_);
        if (std::exchange(in_queue_pairs_, false)) manager_.queue_pairs().erase(connection.remote_queue_pair(), id_);
    } else if (connection.remote() != CommunicationId{}) {
        if (!in_connections_) {
            in_connections_ = manager_.connections().insert(connection.remote_connection(), id_) == id_;
        }
        in_queue_pairs_ = true;  // claimed by the machine, or before it began
    }
    const bool asking = state == ConnectionState::req_sent || state == ConnectionState::mra_req_received;
    if (in_peers_ && !asking) {
        in_peers_ = false;
        manager_.peers().erase(RemoteEnd::peer(connection.service(), connection.peer_gid()), id_);
    }
}

void Session::settle_timer(std::optional<Time> deadline, Time now) {
    const auto wanted = deadline.value_or(0);
    if (wanted == armed_for_) return;
    armed_for_ = wanted;
    if (wanted == 0) {
        manager_.timers().cancel(*this, id_);
    } else {
        manager_.timers().arm(*this, id_, wanted, now);
    }
}

}  // namespace verbline::cm
