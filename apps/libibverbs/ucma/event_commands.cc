// SPDX-License-Identifier: BSD-3-Clause
// Events, and multicast groups, whose results are events.
#include <cstddef>
#include <cstring>
#include <tuple>
#include <utility>

#include "apps/libibverbs/ucma/commands.h"
#include "apps/libibverbs/ucma/socket_address.h"
#include "apps/libibverbs/ucma/values.h"

namespace verbline::verbs {
namespace {

using rdmacm::CmEvent;
using rdmacm::IdNumber;

/// Older programs have no room for the field behind the parameters.
constexpr std::size_t least_event = offsetof(rdma_ucm_event_resp, reserved);

rdma_ucm_event_resp from_event(const CmEvent& event) {
    rdma_ucm_event_resp answer{};
    answer.uid = event.user;
    const bool of_group =
        event.kind == rdmacm::EventKind::multicast_join || event.kind == rdmacm::EventKind::multicast_error;
    answer.id = of_group ? static_cast<std::uint32_t>(event.group) : static_cast<std::uint32_t>(event.id);
    answer.event = std::to_underlying(event.kind);
    answer.status = static_cast<std::uint32_t>(event.status);
    if (event.datagram)
        answer.param.ud = from_parameters(event.ud);
    else
        answer.param.conn = from_parameters(event.connect);
    return answer;
}

Result<void> join(const Command& command, CommandTarget& target, const rdma_ucm_join_mcast& input) {
    if (auto room = command.require_room(sizeof(rdma_ucm_create_id_resp)); !room) return room;
    if (input.join_flags >= RDMA_MC_JOIN_FLAG_RESERVED) return failure(EINVAL, "flags");
    const auto address = to_address(input.addr, input.addr_size);
    if (!address) return std::unexpected(address.error());
    const bool send_only = input.join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
    const auto group = target.service.join(IdNumber{input.id}, input.uid, *address, send_only, target.now);
    if (!group) return std::unexpected(group.error());
    auto responded = command.respond(input.response, rdma_ucm_create_id_resp{.id = static_cast<std::uint32_t>(*group)});
    if (!responded) std::ignore = target.service.leave(*group, target.now);
    return responded;
}

}  // namespace

Result<void> get_event(const Command& command, CommandTarget& target) {
    if (auto room = command.require_room(least_event); !room) return room;
    const auto input = command.input<rdma_ucm_get_event>();
    if (!input) return std::unexpected(input.error());
    if (target.events.events.empty()) return failure(EAGAIN, "no event");
    // A taken event cannot be put back: check first that the response buffer is writable.
    if (auto tried = command.respond(input->response, rdma_ucm_event_resp{}); !tried) return tried;
    const auto event = target.service.take_event(target.events);
    if (!event) return failure(EAGAIN, "no event");
    return command.respond(input->response, from_event(*event));
}

Result<void> join_ip_group(const Command& command, CommandTarget& target) {
    const auto input = command.input<rdma_ucm_join_ip_mcast>();
    if (!input) return std::unexpected(input.error());
    rdma_ucm_join_mcast later{};
    later.response = input->response;
    later.uid = input->uid;
    later.id = input->id;
    std::memcpy(&later.addr, &input->addr, sizeof input->addr);
    const auto size = size_of(later.addr);
    later.addr_size = static_cast<__u16>(size <= sizeof input->addr ? size : 0);
    return join(command, target, later);
}

Result<void> join_group(const Command& command, CommandTarget& target) {
    const auto input = command.input<rdma_ucm_join_mcast>();
    if (!input) return std::unexpected(input.error());
    return join(command, target, *input);
}

Result<void> leave_group(const Command& command, CommandTarget& target) {
    if (auto room = command.require_room(sizeof(rdma_ucm_destroy_id_resp)); !room) return room;
    const auto input = command.input<rdma_ucm_destroy_id>();
    if (!input) return std::unexpected(input.error());
    const auto events = target.service.leave(rdmacm::GroupNumber{input->id}, target.now);
    if (!events) return std::unexpected(events.error());
    return command.respond(input->response, rdma_ucm_destroy_id_resp{.events_reported = *events});
}

}  // namespace verbline::verbs
