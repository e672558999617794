// SPDX-License-Identifier: BSD-3-Clause
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "control/rdmacm/multicast.h"
#include "control/rdmacm/service_core.h"

// Groups, and the Q_Keys of datagrams.

namespace verbline::rdmacm {
namespace {

constexpr wire::QKey datagram_qkey{0x01234567};  ///< of the spaces udp and ib: RDMA_UDP_QKEY of Linux

/// IPoIB's in a partition, of the scope of the default one's (RFC 4391, 4).
wire::Gid broadcast_group_of(const NetworkPort::Facts& facts, wire::PKey pkey) {
    constexpr std::size_t pkey_at = 4;
    auto group = facts.broadcast_group;
    wire::store16(group.bytes, pkey_at, std::to_underlying(wire::full_member(pkey)));
    return group;
}

bool same(const JoinedGroup& a, const JoinedGroup& b) {
    return a.mgid == b.mgid && a.mlid == b.mlid && a.qkey == b.qkey && a.sl == b.sl;
}

}  // namespace

/// The id's Q_Key; sets the default of its port space if it has none.
Result<wire::QKey> ServiceCore::default_qkey(Id& id) {
    if (id.qkey) return *id.qkey;
    wire::QKey qkey{};
    if (id.space == PortSpace::udp || id.space == PortSpace::ib) qkey = datagram_qkey;
    if (id.space == PortSpace::ipoib) {
        // On RoCE there is no broadcast group that has one; ends agree on the other spaces' then.
        const auto facts = id.port ? id.port->facts() : NetworkPort::Facts{};
        qkey = facts.kind == link::GidTable::Kind::ib ? facts.broadcast_qkey : datagram_qkey;
        if (qkey == wire::QKey{})
            return failure(EADDRNOTAVAIL, "the Q_Key of the IPoIB broadcast group is not known yet: is the link up?");
    }
    id.qkey = qkey;
    return qkey;
}

/// Sets the id's Q_Key. False: it already has another.
bool ServiceCore::use_qkey(Id& id, wire::QKey qkey) {
    if (id.qkey) return *id.qkey == qkey;
    id.qkey = qkey;
    return true;
}

Result<GroupNumber> ServiceCore::join(IdNumber number, std::uint64_t user, const SocketAddress& address, bool send_only,
                                      Time now) {
    const auto found = find(number);
    if (!found) return std::unexpected(found.error());
    Id& id = **found;
    now_ = now;
    if (!id.port || (id.state != IdState::addr_bound && id.state != IdState::addr_resolved))
        return failure(EINVAL, "bind the id to an address, or resolve one, before joining groups");
    if (!id.datagram()) return failure(EINVAL, "only UD queue pairs join groups");
    const auto facts = id.port->facts();
    const bool ib = facts.kind == link::GidTable::Kind::ib;
    if (!ib && address.any()) return failure(EINVAL, "RoCE assigns no group addresses: pass one");
    const auto qkey = default_qkey(id);
    if (!qkey) return std::unexpected(qkey.error());
    const auto v2 = id.port->gid_index(id.source_gid, link::GidType::roce_v2);
    const auto type = v2 == id.gid_index ? link::GidType::roce_v2 : link::GidType::roce_v1;

    const GroupNumber group_number{++last_group_};
    Group group{.id = number, .user = user, .port = id.port};
    group.request = {.mgid = ib ? ib_mgid(address, id.space, broadcast_group_of(facts, id.connection.pkey))
                                : roce_mgid(address, type),
                     .send_only = send_only,
                     .qkey = *qkey,
                     .pkey = wire::full_member(id.connection.pkey)};
    id.groups.push_back(group_number);
    ask_group(group_number, groups_.emplace(group_number, group).first->second);
    return group_number;
}

Result<std::uint32_t> ServiceCore::leave(GroupNumber number, Time now) {
    const auto found = groups_.find(number);
    if (found == groups_.end())
        return failure(ENOENT, fmt::format("there is no group {}", static_cast<std::uint32_t>(number)));
    now_ = now;
    const Group group = found->second;
    leave_port(group);
    groups_.erase(found);
    Id& id = *ids_.find(group.id);
    std::erase(id.groups, number);
    const auto unseen = std::erase_if(id.queue->events, [&](const CmEvent& event) { return event.group == number; });
    id.waiting -= static_cast<std::uint32_t>(unseen);
    counters_.events_unseen.add(unseen);
    return group.reported;
}

void ServiceCore::ask_group(GroupNumber number, Group& group) {
    group.ticket = ++last_ticket_;
    group.in = false;
    group.port->join(group.ticket, group.request,
                     [this, number, ticket = group.ticket](const Result<JoinedGroup>& answer) {
                         group_answered(number, ticket, answer);
                     });
}

void ServiceCore::group_answered(GroupNumber number, NetworkPort::Ticket ticket, const Result<JoinedGroup>& answer) {
    const auto found = groups_.find(number);
    if (found == groups_.end() || found->second.ticket != ticket) return;
    auto& group = found->second;
    if (!answer) {
        group.joined.reset();
        return group_failed(number, group, answer.error().code);
    }
    group.in = true;
    group.request.mgid = answer->mgid;  // of a group that the SA has made, when we join it again
    const auto before = std::exchange(group.joined, *answer);
    if (before && same(*before, *answer)) return;
    // The group's address changed: users must be notified, and join again.
    if (before) return group_failed(number, group, ENETRESET);
    Id& id = *ids_.find(group.id);
    emit(id, {.kind = EventKind::multicast_join,
              .id = id.number,
              .user = group.user,
              .group = number,
              .datagram = true,
              .ud = {.qpn = wire::multicast_qpn, .qkey = answer->qkey, .path = path_to(*answer, id.gid_index)}});
}

void ServiceCore::group_failed(GroupNumber number, Group& group, int code) {
    counters_.multicast_errors.add();
    emit(*ids_.find(group.id), {.kind = EventKind::multicast_error,
                                .id = group.id,
                                .user = group.user,
                                .status = -code,
                                .group = number,
                                .datagram = true});
}

void ServiceCore::leave_port(const Group& group) {
    group.port->cancel(group.ticket);
    if (group.in) group.port->leave(group.ticket, group.joined->mgid);
}

/// The network may have lost our memberships: joins the groups again.
void ServiceCore::rejoin(const NetworkPort& port) {
    std::vector<GroupNumber> ours;
    for (const auto& [number, group] : groups_)
        if (group.port == &port && group.joined) ours.push_back(number);
    for (const auto number : ours) {
        auto& group = groups_.at(number);
        leave_port(group);
        ask_group(number, group);
    }
}

}  // namespace verbline::rdmacm
