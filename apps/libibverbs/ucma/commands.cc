// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/commands.h"

#include <array>

namespace verbline::verbs {
namespace {

/// Handlers of commands, by command number; null: unassigned.
constexpr auto handlers = [] {
    std::array<CommandHandler, RDMA_USER_CM_CMD_JOIN_MCAST + 1> table{};
    table[RDMA_USER_CM_CMD_CREATE_ID] = create_id;
    table[RDMA_USER_CM_CMD_DESTROY_ID] = destroy_id;
    table[RDMA_USER_CM_CMD_BIND_IP] = bind_ip;
    table[RDMA_USER_CM_CMD_RESOLVE_IP] = resolve_ip;
    table[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = resolve_route;
    table[RDMA_USER_CM_CMD_QUERY_ROUTE] = query_route;
    table[RDMA_USER_CM_CMD_CONNECT] = connect;
    table[RDMA_USER_CM_CMD_LISTEN] = listen;
    table[RDMA_USER_CM_CMD_ACCEPT] = accept;
    table[RDMA_USER_CM_CMD_REJECT] = reject;
    table[RDMA_USER_CM_CMD_DISCONNECT] = disconnect;
    table[RDMA_USER_CM_CMD_INIT_QP_ATTR] = init_queue_pair;
    table[RDMA_USER_CM_CMD_GET_EVENT] = get_event;
    table[RDMA_USER_CM_CMD_SET_OPTION] = set_option;  // GET_OPTION was never made
    table[RDMA_USER_CM_CMD_NOTIFY] = notify;
    table[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = join_ip_group;
    table[RDMA_USER_CM_CMD_LEAVE_MCAST] = leave_group;
    table[RDMA_USER_CM_CMD_MIGRATE_ID] = migrate_id;
    table[RDMA_USER_CM_CMD_QUERY] = query;
    table[RDMA_USER_CM_CMD_BIND] = bind;
    table[RDMA_USER_CM_CMD_RESOLVE_ADDR] = resolve_address;
    table[RDMA_USER_CM_CMD_JOIN_MCAST] = join_group;
    return table;
}();

}  // namespace

Result<void> run_command(const Command& command, CommandTarget& target) {
    if (command.number() >= handlers.size()) return failure(EINVAL, "no such command");
    const auto handler = handlers[command.number()];
    if (handler == nullptr) return failure(ENOSYS, "command");
    return handler(command, target);
}

}  // namespace verbline::verbs
