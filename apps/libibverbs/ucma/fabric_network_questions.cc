// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <utility>

#include "apps/libibverbs/ucma/fabric_network.h"

// Queries: neighbours, paths, groups.

namespace verbline::verbs {
namespace {

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

Subnet::Handlers FabricNetwork::handlers() {
    return {.neighbour =
                [this](Ticket ticket, const Result<wire::Gid>& gid) {
                    answer(finding_, ticket,
                           gid ? Result<Neighbour>(Neighbour{.gid = *gid})
                               : Result<Neighbour>(std::unexpected(gid.error())));
                },
            .path = [this](Ticket ticket, const auto& path) { answer(resolving_, ticket, path); },
            .group = [this](Ticket ticket, const auto& mgid, const auto& group) { granted(ticket, mgid, group); },
            .broadcast = [this](const sa::Group& group) { granted(group); }};
}

void FabricNetwork::find_neighbour(Ticket ticket, const wire::Gid& from, const wire::Gid& to,
                                   NeighbourHandler handler) {
    finding_.insert_or_assign(ticket, std::move(handler));
    const auto own = std::ranges::find(addresses_, from, &link::InterfaceAddress::gid);
    const auto pkey = own != addresses_.end() ? own->pkey : link::InterfaceAddress{}.pkey;
    callbacks().later([this, ticket, to, pkey] { subnet_->find_neighbour(ticket, to, pkey); });
}

void FabricNetwork::find_path(Ticket ticket, const wire::Gid& to, wire::PKey pkey, PathHandler handler) {
    resolving_.insert_or_assign(ticket, std::move(handler));
    callbacks().later([this, ticket, to, pkey] { subnet_->find_path(ticket, to, pkey); });
}

void FabricNetwork::join(Ticket ticket, const rdmacm::GroupRequest& request, GroupHandler handler) {
    joining_.insert_or_assign(ticket, std::move(handler));
    callbacks().later([this, ticket, request] { subnet_->join(ticket, request); });
}

/// Called again whenever the group's record changes. The first call completes the join; later ones are reported to RDMA
/// CM as a port change, upon which it joins again and notifies the program.
void FabricNetwork::granted(Ticket ticket, const wire::Gid& mgid, const Result<sa::Group>& group) {
    if (!group) {
        answer(joining_, ticket, Result<rdmacm::JoinedGroup>(std::unexpected(group.error())));
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
    subnet_->leave(ticket, mgid);
}

void FabricNetwork::leave(Ticket ticket, const wire::Gid& mgid) {
    cancel(ticket);
    callbacks().later([this, ticket, mgid] { leave_now(ticket, mgid); });
}

void FabricNetwork::cancel(Ticket ticket) {
    finding_.erase(ticket);
    resolving_.erase(ticket);
    joining_.erase(ticket);
    callbacks().later([this, ticket] { subnet_->cancel(ticket); });
}

}  // namespace verbline::verbs
