// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/session.h"

namespace verbline::cm {

CommunicationId Session::remote_id() const {
    const std::lock_guard lock(mutex_);
    const auto* const connection = std::get_if<Connection>(&machine_);
    return connection == nullptr ? CommunicationId{} : connection->remote();
}

Session::Shown Session::shown() const {
    const std::lock_guard lock(mutex_);
    Session::Shown shown{.local = CommunicationId{id_}, .state = state()};
    if (const auto* const listener = std::get_if<Listener>(&machine_)) {
        shown.service = listener->service;
        shown.since = listener->since;
    } else if (const auto* const sidr = std::get_if<Sidr>(&machine_)) {
        shown.service = sidr->service();
        shown.peer = sidr->peer_gid();
        shown.retries = sidr->retries();
        shown.since = sidr->since();
    } else {
        const auto& connection = std::get<Connection>(machine_);
        shown.remote = connection.remote();
        shown.service = connection.service();
        shown.peer = connection.peer_gid();
        shown.local_qpn = connection.local_qpn();
        shown.remote_qpn = connection.remote_qpn();
        shown.retries = connection.retries();
        shown.since = connection.since();
    }
    return shown;
}

}  // namespace verbline::cm
