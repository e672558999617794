// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "apps/libibverbs/ucma/fabric_network.h"
#include "datapath/wire/text.h"

// Queries: neighbours, paths, groups.

namespace verbline::verbs {
namespace {

/// The user id of a multicast join's ticket; smaller ids are the port's own.
sa::UserId user_of(rdmacm::NetworkPort::Ticket ticket) {
    return sa::UserId{ticket + (std::uint64_t{1} << 32)};
}

rdmacm::JoinedGroup joined_group(const wire::Gid& mgid, const sa::Group& group) {
    return {.mgid = mgid,
            .mlid = group.mlid,
            .qkey = group.qkey,
            .sl = group.service_level,
            .hop_limit = group.hop_limit,
            .traffic_class = group.traffic_class,
            .mtu = static_cast<std::uint8_t>(group.mtu),
            .rate = group.rate,
            .flow_label = group.flow_label,
            .pkey = group.pkey};
}

/// Maps a failure of a path query: ETIMEDOUT if the subnet administrator did not answer, else EHOSTUNREACH.
Error error_of(const VerbsPort& port, const wire::Gid& to, const sa::Failure& why) {
    const bool silent = why.reason == sa::Failure::Reason::timed_out;
    return {silent ? ETIMEDOUT : EHOSTUNREACH,
            fmt::format("{}: no path to {}: {}", port.name(), wire::to_string(to), sa::describe(why))};
}

}  // namespace

/// Calls the handler of the ticket with the answer. False: it was cancelled.
template <class Handler, class Answer>
bool FabricNetwork::answer(std::map<Ticket, Handler>& waiting, Ticket ticket, const Answer& what) {
    bool awaited = false;
    callbacks().with_service([&] {
        auto asked = waiting.extract(ticket);
        awaited = !asked.empty();
        if (awaited) asked.mapped()(what);
    });
    return awaited;
}

void FabricNetwork::find_neighbour(Ticket ticket, const wire::Gid& /*from*/, const wire::Gid& to,
                                   NeighbourHandler handler) {
    finding_.insert_or_assign(ticket, std::move(handler));
    callbacks().later([this, ticket, to] {
        neighbours_->find(ticket, to, [this, ticket](const Result<wire::Gid>& gid) {
            answer(finding_, ticket,
                   gid ? Result<Neighbour>(Neighbour{.gid = *gid}) : Result<Neighbour>(std::unexpected(gid.error())));
        });
    });
}

void FabricNetwork::find_path(Ticket ticket, const wire::Gid& to, wire::PKey pkey, PathHandler handler) {
    resolving_.insert_or_assign(ticket, std::move(handler));
    callbacks().later([this, ticket, to, pkey] {
        agent_->paths().resolve(
            agent_->paths().key(to, pkey), [this, ticket, to](const sa::Answer<wire::PathRecord>& path) {
                answer(resolving_, ticket,
                       path ? Result<wire::PathRecord>(*path) : std::unexpected(error_of(port(), to, path.error())));
            });
    });
}

void FabricNetwork::join(Ticket ticket, const rdmacm::GroupRequest& request, GroupHandler handler) {
    joining_.insert_or_assign(ticket, std::move(handler));
    auto like = broadcast_;
    if (like && request.qkey) like->qkey = *request.qkey;
    const auto state = request.send_only ? wire::join_state::send_only_full_member : wire::join_state::full_member;
    callbacks().later([this, ticket, mgid = request.mgid, like, state] {
        agent_->groups().join(mgid, user_of(ticket), state, {.pkey = wire::PKey{0xffff}, .create_like = like},
                              [this, ticket, mgid](const auto& group) { granted(ticket, mgid, group); });
    });
}

/// Called again whenever the group's record changes. The first call completes the join; later ones are reported to RDMA
/// CM as a port change, upon which it joins again and notifies the program.
void FabricNetwork::granted(Ticket ticket, const wire::Gid& mgid, const std::expected<sa::Group, sa::SaStatus>& group) {
    if (!group) {
        const Result<rdmacm::JoinedGroup> refused =
            failure(EINVAL, fmt::format("{}: the subnet administrator refuses group {}: {}", port().name(),
                                        wire::to_string(mgid), sa::describe(group.error())));
        answer(joining_, ticket, refused);
        return;
    }
    const auto [grant, first] = granted_.try_emplace(ticket, *group);
    if (first) {
        const bool awaited = answer(joining_, ticket, Result<rdmacm::JoinedGroup>(joined_group(mgid, *group)));
        if (!awaited) leave_now(ticket, mgid);  // cancelled meanwhile
    } else if (std::exchange(grant->second, *group) != *group) {
        callbacks().with_service([&] { callbacks().changed(*this, false); });
    }
}

void FabricNetwork::leave_now(Ticket ticket, const wire::Gid& mgid) {
    granted_.erase(ticket);
    agent_->groups().leave(mgid, user_of(ticket));
}

void FabricNetwork::leave(Ticket ticket, const wire::Gid& mgid) {
    cancel(ticket);
    callbacks().later([this, ticket, mgid] { leave_now(ticket, mgid); });
}

void FabricNetwork::cancel(Ticket ticket) {
    finding_.erase(ticket);
    resolving_.erase(ticket);
    joining_.erase(ticket);
    callbacks().later([this, ticket] { neighbours_->cancel(ticket); });
}

}  // namespace verbline::verbs
