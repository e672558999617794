// SPDX-License-Identifier: BSD-3-Clause
// Addresses and routes of ids.
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <ranges>
#include <span>
#include <vector>

#include <endian.h>

#include "apps/libibverbs/ucma/commands.h"
#include "apps/libibverbs/ucma/socket_address.h"
#include "apps/libibverbs/ucma/values.h"

namespace verbline::verbs {
namespace {

using rdmacm::IdNumber;
using rdmacm::ResolvedRoute;

constexpr std::size_t shown_paths = 2;  ///< of rdma_ucm_query_route_resp: primary and alternate

Time from_milliseconds(std::uint32_t value) {
    return Time{value} * millisecond;
}

/// Which device an answer is about; the three kinds of answer name it alike.
template <class Answer>
void set_device(const ResolvedRoute& route, Answer& answer) {
    if (route.port == nullptr) return;
    const auto facts = route.port->facts();
    answer.node_guid = htobe64(static_cast<std::uint64_t>(facts.guid));
    answer.port_num = 1;
    answer.ibdev_index = facts.device_index;
}

Result<void> query_addresses(const Command& command, const rdma_ucm_query& input, const ResolvedRoute& route) {
    rdma_ucm_query_addr_resp answer{};
    answer.src_addr = to_storage(route.source);
    answer.src_size = static_cast<__u16>(size_of(route.source));
    answer.dst_addr = to_storage(route.destination);
    answer.dst_size = static_cast<__u16>(size_of(route.destination));
    answer.pkey = route.port != nullptr ? htobe16(static_cast<std::uint16_t>(route.pkey)) : 0;
    set_device(route, answer);
    return command.respond(input.response, answer);
}

Result<void> query_gids(const Command& command, const rdma_ucm_query& input, const ResolvedRoute& route) {
    const auto gid_of = [&](const rdmacm::SocketAddress& address, const wire::Gid& gid) {
        if (address.family == rdmacm::Family::ib) return to_storage(address);
        return to_storage(infiniband_address(gid, route.pkey, rdmacm::service_id(route.space, address.port)));
    };
    rdma_ucm_query_addr_resp answer{};
    answer.src_size = answer.dst_size = sizeof(InfinibandSocketAddress);
    answer.src_addr = gid_of(route.source, route.source_gid);
    answer.dst_addr = gid_of(route.destination, route.destination_gid);
    answer.pkey = htobe16(static_cast<std::uint16_t>(route.pkey));
    set_device(route, answer);
    return command.respond(input.response, answer);
}

Result<void> query_paths(const Command& command, const rdma_ucm_query& input, const ResolvedRoute& route) {
    constexpr std::size_t head = sizeof(rdma_ucm_query_path_resp);
    const auto room = (command.room() - head) / sizeof(ib_path_rec_data);
    // That structure ends in a flexible array member, which standard C++ lacks.
    const std::array<__u32, 2> header{static_cast<__u32>(route.paths.size()), 0};
    static_assert(sizeof(header) == head);
    if (auto responded = command.respond(input.response, header); !responded) return responded;
    std::vector<ib_path_rec_data> packed;
    for (const auto& path : route.paths | std::views::take(room)) packed.push_back(pack_record(path));
    return write_user(input.response + head, std::as_bytes(std::span(packed)));
}

/// Without a route there are the addresses alone, which on RoCE are GIDs.
void set_paths(const ResolvedRoute& route, rdma_ucm_query_route_resp& answer) {
    answer.num_paths = static_cast<__u32>(std::min(route.paths.size(), shown_paths));
    for (std::size_t i = 0; i < answer.num_paths; ++i) answer.ib_route[i] = from_record(route.paths[i]);
    if (answer.num_paths != 0) return;
    answer.ib_route[0] =
        from_record({.destination_gid = route.destination_gid, .source_gid = route.source_gid, .pkey = route.pkey});
}

}  // namespace

Result<void> bind_ip(const Command& command, CommandTarget& target) {
    const auto input = command.input<rdma_ucm_bind_ip>();
    if (!input) return std::unexpected(input.error());
    const auto address = to_address(input->addr);
    if (!address) return std::unexpected(address.error());
    return target.service.bind(IdNumber{input->id}, *address, target.now);
}

Result<void> bind(const Command& command, CommandTarget& target) {
    const auto input = command.input<rdma_ucm_bind>();
    if (!input) return std::unexpected(input.error());
    if (input->reserved != 0) return failure(EINVAL, "reserved");
    const auto address = to_address(input->addr, input->addr_size);
    if (!address) return std::unexpected(address.error());
    return target.service.bind(IdNumber{input->id}, *address, target.now);
}

Result<void> resolve_ip(const Command& command, CommandTarget& target) {
    const auto input = command.input<rdma_ucm_resolve_ip>();
    if (!input) return std::unexpected(input.error());
    std::optional<rdmacm::SocketAddress> source;
    if (input->src_addr.sin6_family != 0) {
        const auto address = to_address(input->src_addr);
        if (!address) return std::unexpected(address.error());
        source = *address;
    }
    const auto destination = to_address(input->dst_addr);
    if (!destination) return std::unexpected(destination.error());
    return target.service.resolve_address(IdNumber{input->id}, source, *destination,
                                          from_milliseconds(input->timeout_ms), target.now);
}

Result<void> resolve_address(const Command& command, CommandTarget& target) {
    const auto input = command.input<rdma_ucm_resolve_addr>();
    if (!input) return std::unexpected(input.error());
    if (input->reserved != 0) return failure(EINVAL, "reserved");
    std::optional<rdmacm::SocketAddress> source;
    if (input->src_size != 0) {
        const auto address = to_address(input->src_addr, input->src_size);
        if (!address) return std::unexpected(address.error());
        source = *address;
    }
    const auto destination = to_address(input->dst_addr, input->dst_size);
    if (!destination) return std::unexpected(destination.error());
    return target.service.resolve_address(IdNumber{input->id}, source, *destination,
                                          from_milliseconds(input->timeout_ms), target.now);
}

Result<void> resolve_route(const Command& command, CommandTarget& target) {
    const auto input = command.input<rdma_ucm_resolve_route>();
    if (!input) return std::unexpected(input.error());
    return target.service.resolve_route(IdNumber{input->id}, from_milliseconds(input->timeout_ms), target.now);
}

Result<void> query_route(const Command& command, CommandTarget& target) {
    if (auto room = command.require_room(offsetof(rdma_ucm_query_route_resp, ibdev_index)); !room) return room;
    const auto input = command.input<rdma_ucm_query>(offsetof(rdma_ucm_query, option));
    if (!input) return std::unexpected(input.error());
    const auto route = target.service.route(IdNumber{input->id});
    if (!route) return std::unexpected(route.error());
    rdma_ucm_query_route_resp answer{};
    answer.src_addr = to_ip_storage(route->source);
    answer.dst_addr = to_ip_storage(route->destination);
    set_device(*route, answer);
    if (route->port != nullptr) set_paths(*route, answer);
    return command.respond(input->response, answer);
}

Result<void> query(const Command& command, CommandTarget& target) {
    const auto input = command.input<rdma_ucm_query>();
    if (!input) return std::unexpected(input.error());
    const auto answer = [&](std::size_t least, auto notify) -> Result<void> {
        if (auto room = command.require_room(least); !room) return room;
        const auto route = target.service.route(IdNumber{input->id});
        if (!route) return std::unexpected(route.error());
        return notify(command, *input, *route);
    };
    constexpr auto least_addresses = offsetof(rdma_ucm_query_addr_resp, ibdev_index);
    switch (input->option) {
        case RDMA_USER_CM_QUERY_ADDR: return answer(least_addresses, query_addresses);
        case RDMA_USER_CM_QUERY_PATH: return answer(sizeof(rdma_ucm_query_path_resp), query_paths);
        case RDMA_USER_CM_QUERY_GID: return answer(least_addresses, query_gids);
        default: return failure(ENOSYS, "what to query");
    }
}

}  // namespace verbline::verbs
