// SPDX-License-Identifier: BSD-3-Clause
// XRC domains and targets that members of a node share.
#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include <sys/stat.h>

#include "control/hub/server.h"
#include "control/hub/server_session.h"

namespace verbline::hub {
namespace {

Message answer_to(const std::expected<void, Refused>& done) {
    return done ? Message(Done{}) : Message(done.error());
}

}  // namespace

/// The descriptor proves that the member may open the file, whatever its name in the member's file systems.
bool Server::serve_member(Session& session, const OpenXrcDomain& how) {
    struct stat status{};
    if (!session.descriptor || fstat(session.descriptor.get(), &status) != 0) {
        return say(session, Refused{EBADF, "the XRC domain's file did not come with the request"});
    }
    const auto domain = xrc_.open_domain(*session.lane, {status.st_dev, status.st_ino}, how);
    if (!domain) return say(session, domain.error());
    for (const auto& target : xrc_.targets(*domain)) {
        host_.xrc()->join(target.qpn, *session.lane, false);
        tell(session, target);
    }
    return say(session, XrcDomainOpened{*domain});
}

bool Server::serve_member(Session& session, const CloseXrcDomain& which) {
    const auto gone = xrc_.close_domain(*session.lane, which.domain);
    if (!gone) return say(session, gone.error());
    for (const auto& target : xrc_.targets(which.domain)) host_.xrc()->leave(target.qpn, *session.lane);
    end_targets(*gone);
    return say(session, Done{});
}

/// Targets that programs of the member's user have open.
std::size_t Server::targets_of_user(LaneId member) const {
    const auto user = registry_.tenant(member).peer.uid;
    const auto is_theirs = [&](LaneId opener) { return registry_.tenant(opener).peer.uid == user; };
    const auto targets = xrc_.targets();
    return static_cast<std::size_t>(std::ranges::count_if(
        targets, [&](const auto& target) { return std::ranges::any_of(xrc_.openers(target.qpn), is_theirs); }));
}

bool Server::serve_member(Session& session, const CreateXrcTarget& wanted) {
    const auto room = registry_.may_open_target(*session.lane, targets_of_user(*session.lane));
    if (!room) return say(session, Refused{ENOMEM, room.error().reason});  // as ibv_create_qp says it
    const auto qpn = xrc_.create(*session.lane, wanted.domain);
    if (!qpn) return say(session, qpn.error());
    tell_domain(*xrc_.find(*qpn), session.lane);
    return say(session, XrcTargetMade{*qpn});
}

bool Server::serve_member(Session& session, const OpenXrcTarget& wanted) {
    return say(session, answer_to(xrc_.open(*session.lane, wanted)));
}

bool Server::serve_member(Session& session, const CloseXrcTarget& which) {
    const auto gone = xrc_.close(*session.lane, which.qpn);
    if (!gone) return say(session, gone.error());
    end_targets(*gone);
    return say(session, Done{});
}

/// The member has changed its own already; others follow, and until they have, requests for them are held.
bool Server::serve_member(Session& session, const XrcTarget& wanted) {
    const auto* const before = xrc_.find(wanted.qpn);
    const bool was_connected = before != nullptr && is_connected(before->state);
    const auto target = xrc_.set(*session.lane, wanted);
    if (!target) return say(session, target.error());
    if (!is_connected(target->state)) {
        host_.xrc()->stop(target->qpn);
    } else if (!was_connected) {
        if (const auto started = host_.xrc()->start(*target); !started) {
            std::ignore = xrc_.fail(target->qpn, wire::NakCode::psn_sequence);
            return say(session, Refused{started.error().code, started.error().what});
        }
        for (const auto member : xrc_.members(target->domain)) {
            host_.xrc()->join(target->qpn, member, member == *session.lane);
        }
    }
    tell_domain(*target, session.lane);
    return say(session, Done{});
}

bool Server::serve_member(Session& session, const XrcTargetTaken& taken) {
    tell_rest(session);
    const auto* const target = xrc_.find(taken.qpn);
    const bool current = target != nullptr && target->change == taken.change && is_connected(target->state) &&
                         xrc_.members(target->domain).contains(*session.lane);
    if (current) host_.xrc()->join(taken.qpn, *session.lane, true);
    return true;
}

void Server::leave_xrc(LaneId member) {
    if (host_.xrc() != nullptr) end_targets(xrc_.leave(member));
}

void Server::end_targets(const std::vector<XrcTarget>& gone) {
    for (const auto& target : gone) {
        host_.xrc()->stop(target.qpn);
        tell_domain(target, std::nullopt);
    }
}

void Server::look_after_xrc() {
    if (host_.xrc() == nullptr) return;
    for (const auto& [qpn, nak] : host_.xrc()->take_failures()) {
        if (const auto target = xrc_.fail(qpn, nak)) tell_domain(*target, std::nullopt);
    }
    for (auto& [id, session] : sessions_) tell_rest(session);
}

/// Until the member has taken it, requests for it are held.
void Server::tell(Session& session, const XrcTarget& target) {
    if (!session.untold.empty() || !say(session, target)) session.untold[target.qpn] = target;
}

void Server::tell_rest(Session& session) {
    auto& rest = session.untold;
    while (!rest.empty() && say(session, rest.begin()->second)) rest.erase(rest.begin());
}

void Server::tell_domain(const XrcTarget& target, std::optional<LaneId> but) {
    const auto members = xrc_.members(target.domain);
    for (auto& [id, session] : sessions_) {
        if (session.lane && session.lane != but && members.contains(*session.lane)) tell(session, target);
    }
}

}  // namespace verbline::hub
