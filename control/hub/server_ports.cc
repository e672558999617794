// SPDX-License-Identifier: BSD-3-Clause
// What clients say of port numbers.
#include <cerrno>

#include "control/hub/server.h"
#include "control/hub/server_session.h"
#include "control/hub/subnet_host.h"

namespace verbline::hub {
namespace {

Message answer_of(const Registry::Answer<void>& done) {
    return done ? Message(Done{}) : Message(done.error());
}

Refused foreign_address() {
    return {EADDRNOTAVAIL,
            "this address is not of the program's port; bind one of those that `verbline devinfo` shows"};
}

}  // namespace

bool Server::may_bind(const Session& session, const PortUse& use) const {
    return registry_.may_bind(*session.lane, use) || (host_.subnet() != nullptr && host_.subnet()->has_address(use));
}

bool Server::serve(Session& session, const Reserve& wanted) {
    if (!session.lane) return false;
    if (!may_bind(session, wanted.use)) return say(session, foreign_address());
    const auto port = registry_.reserve(*session.lane, wanted);
    return say(session, port ? Message(Reserved{*port}) : Message(port.error()));
}

bool Server::serve(Session& session, const Rebind& wanted) {
    if (!session.lane) return false;
    if (!may_bind(session, wanted.to)) return say(session, foreign_address());
    return say(session, answer_of(registry_.rebind(*session.lane, wanted)));
}

bool Server::serve(Session& session, const Release& port) {
    if (!session.lane) return false;
    return say(session, answer_of(registry_.release(*session.lane, port)));
}

}  // namespace verbline::hub
