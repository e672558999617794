// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The commands of the rdma_cm device (RDMA_USER_CM_CMD_...), executed on rdmacm::Service. Errors are those of the
/// kernel's device.
///
///     commands.cc ── by number ──┬── id_commands            create, destroy, migrate, options, notify
///                                ├── address_commands       bind, resolve, query
///                                ├── connection_commands    connect, listen, accept, reject, disconnect, attributes
///                                └── event_commands         events, groups
///
/// Threads: as Service, one at a time. No command blocks.

#include "apps/libibverbs/ucma/command.h"
#include "control/rdmacm/service.h"
#include "pmd/base/time.h"

namespace verbline::verbs {

/// What a command operates on.
struct CommandTarget {
    rdmacm::Service& service;
    rdmacm::EventQueue& events;           ///< of the descriptor that was written to
    rdmacm::EventQueue* other = nullptr;  ///< of the descriptor that `migrate` names; null: no channel
    Time now = 0;
};

/// Executes a command. EINVAL: number out of range, or invalid arguments; ENOSYS: a number without a handler; EAGAIN:
/// no event is queued.
Result<void> run_command(const Command& command, CommandTarget& target);

using CommandHandler = Result<void> (*)(const Command&, CommandTarget&);

// id_commands.cc
Result<void> create_id(const Command& command, CommandTarget& target);
Result<void> destroy_id(const Command& command, CommandTarget& target);
Result<void> migrate_id(const Command& command, CommandTarget& target);
Result<void> set_option(const Command& command, CommandTarget& target);
Result<void> notify(const Command& command, CommandTarget& target);

// address_commands.cc
Result<void> bind_ip(const Command& command, CommandTarget& target);
Result<void> bind(const Command& command, CommandTarget& target);
Result<void> resolve_ip(const Command& command, CommandTarget& target);
Result<void> resolve_address(const Command& command, CommandTarget& target);
Result<void> resolve_route(const Command& command, CommandTarget& target);
Result<void> query_route(const Command& command, CommandTarget& target);
Result<void> query(const Command& command, CommandTarget& target);

// connection_commands.cc
Result<void> connect(const Command& command, CommandTarget& target);
Result<void> listen(const Command& command, CommandTarget& target);
Result<void> accept(const Command& command, CommandTarget& target);
Result<void> reject(const Command& command, CommandTarget& target);
Result<void> disconnect(const Command& command, CommandTarget& target);
Result<void> init_queue_pair(const Command& command, CommandTarget& target);

// event_commands.cc
Result<void> get_event(const Command& command, CommandTarget& target);
Result<void> join_ip_group(const Command& command, CommandTarget& target);
Result<void> join_group(const Command& command, CommandTarget& target);
Result<void> leave_group(const Command& command, CommandTarget& target);

}  // namespace verbline::verbs
