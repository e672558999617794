// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Local operations, which send no packet: bind a memory window, invalidate one (IBTA volume 1, 10.6.6 and 10.6.7).

#include "datapath/memory/key_table.h"
#include "datapath/transport/queue_pair_context.h"
#include "datapath/transport/send_queue.h"

namespace verbline::transport {

/// Executes `work`, a local_invalidate or bind_window. Returns success or window_bind_error.
Status execute_local(const SendWork& work, const QueuePairContext& qp, memory::KeyTable& keys) noexcept;

}  // namespace verbline::transport
