// SPDX-License-Identifier: BSD-3-Clause
// What members of a node on a soft fabric ask of its subnet.
#include <cerrno>
#include <variant>

#include "control/hub/server.h"
#include "control/hub/server_session.h"
#include "control/hub/subnet_host.h"

namespace verbline::hub {

/// Also one without a lane: who shows the port before a program joins.
bool Server::tell_subnet_port(const Session& session) const {
    if (host_.subnet() == nullptr) {
        return say(session, Refused{EOPNOTSUPP, "this port is on no InfiniBand fabric"});
    }
    return say(session, host_.subnet()->port()) && say(session, Done{});
}

bool Server::serve_member(Session& session, const FindNeighbour& wanted) {
    if (host_.subnet() == nullptr) return false;
    host_.subnet()->find(*session.lane, wanted);
    return true;
}

bool Server::serve_member(Session& session, const FindPath& wanted) {
    if (host_.subnet() == nullptr) return false;
    host_.subnet()->find(*session.lane, wanted);
    return true;
}

bool Server::serve_member(Session& session, const JoinSubnetGroup& wanted) {
    if (host_.subnet() == nullptr) return false;
    host_.subnet()->join(*session.lane, wanted);
    return true;
}

bool Server::serve_member(Session& session, const LeaveSubnetGroup& which) {
    if (host_.subnet() == nullptr) return false;
    host_.subnet()->leave(*session.lane, which);
    return true;
}

/// A member that does not read its messages asks again.
void Server::tell_subnet(LaneId member, const Message& what) {
    for (const auto& [id, session] : sessions_) {
        if (session.lane == member) say(session, what);
    }
}

void Server::tell_subnet_port() {
    for (const auto& [id, session] : sessions_) {
        if (session.lane) say(session, host_.subnet()->port());
    }
}

}  // namespace verbline::hub
