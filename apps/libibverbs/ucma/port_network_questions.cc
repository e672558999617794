// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apps/libibverbs/ucma/port_network.h"
#include "datapath/wire/text.h"

// Asynchronous operations: neighbours and groups.

namespace verbline::verbs {

/// Handlers may start or cancel other lookups.
void PortNetwork::answer_resolved(Time now) {
    std::vector<std::pair<Ticket, std::optional<wire::MacAddress>>> answers;
    auto next = std::numeric_limits<Time>::max();
    for (const auto& [ticket, waiting] : waiting_) {
        const bool resolving = port_.resolving_next_hop(waiting.gid_index, waiting.to);
        const auto mac = port_.next_hop(waiting.gid_index, waiting.to);  // second: the answer may come in between
        if (mac || !resolving || now >= waiting.until) {
            answers.emplace_back(ticket, mac);
        } else {
            next = std::min(next, waiting.until);
        }
    }
    next_timeout_ = next;
    for (const auto& [ticket, mac] : answers) answer(ticket, mac);
}

void PortNetwork::answer(Ticket ticket, std::optional<wire::MacAddress> mac) {
    const auto waiting = waiting_.extract(ticket);
    if (!waiting) return;
    const auto& [gid_index, to, until, handler] = waiting.mapped();
    if (mac) return handler(Neighbour{.mac = *mac, .gid = to});
    handler(failure(EHOSTUNREACH, fmt::format("{}: no host answers for {}", port_.name(), wire::to_string(to))));
}

void PortNetwork::find_neighbour(Ticket ticket, const wire::Gid& from, const wire::Gid& to, NeighbourHandler handler) {
    const auto index = gid_index(from, usual_type());
    if (!index) return handler(failure(EADDRNOTAVAIL, "no address of ours"));
    if (const auto mac = port_.next_hop(*index, to)) return handler(Neighbour{.mac = *mac, .gid = to});
    const auto now = callbacks_.now();
    port_.ask_next_hop(*index, to);
    const auto until = now + host::NextHops::resolution_timeout;
    next_timeout_ = waiting_.empty() ? until : std::min(next_timeout_, until);
    waiting_.emplace(ticket, Waiting{.gid_index = *index, .to = to, .until = until, .handler = std::move(handler)});
}

/// On Ethernet, RDMA CM builds paths itself.
void PortNetwork::find_path(Ticket, const wire::Gid&, wire::PKey, PathHandler handler) {
    handler(failure(ENOSYS, port_.name() + ": there is no subnet administrator on Ethernet"));
}

/// Joining at a hub blocks: not with the service held.
void PortNetwork::join(Ticket ticket, const rdmacm::GroupRequest& request, GroupHandler handler) {
    joining_.emplace(ticket, std::move(handler));
    callbacks_.later([this, ticket, request] {
        auto result = port_.groups().join(request.mgid, wire::Lid{});
        callbacks_.with_service([&] { joined(ticket, request, std::move(result)); });
    });
}

/// Ethernet has no SA to assign a group's Q_Key: it is the one requested by the join.
void PortNetwork::joined(Ticket ticket, const rdmacm::GroupRequest& request, Result<void> result) {
    auto waiting = joining_.extract(ticket);
    if (!waiting) {  // cancelled meanwhile
        if (result) leave(ticket, request.mgid);
        return;
    }
    if (!result) return waiting.mapped()(std::unexpected(result.error()));
    waiting.mapped()(rdmacm::JoinedGroup{.mgid = request.mgid,
                                         .mac = ethernet_address_of_group(request.mgid),
                                         .qkey = request.qkey.value_or(wire::QKey{})});
}

void PortNetwork::leave(Ticket ticket, const wire::Gid& mgid) {
    cancel(ticket);
    callbacks_.later([this, mgid] { port_.groups().leave(mgid, wire::Lid{}); });
}

void PortNetwork::cancel(Ticket ticket) {
    waiting_.erase(ticket);
    joining_.erase(ticket);
}

}  // namespace verbline::verbs
