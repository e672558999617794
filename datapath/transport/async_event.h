// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Asynchronous events of queue pairs, completion queues, shared receive queues and the port (IBTA volume 1, 11.6.3).

#include <cstdint>
#include <functional>

#include "datapath/wire/types.h"

namespace verbline::transport {

/// Values of ibv_event_type.
enum class AsyncEventKind : std::uint8_t {
    cq_error = 0,
    qp_fatal = 1,
    qp_request_error = 2,
    qp_access_error = 3,
    communication_established = 4,
    send_queue_drained = 5,
    device_fatal = 8,
    port_active = 9,
    port_error = 10,
    lid_change = 11,
    pkey_change = 12,
    sm_change = 13,
    srq_limit_reached = 15,
    last_wqe_reached = 16,
    client_reregister = 17,
    gid_change = 18,
};

class CompletionQueue;
struct SharedReceiveQueue;

/// `qpn` is set for events of queue pairs, `cq` for those of completion queues, `srq` for those of shared receive
/// queues.
struct AsyncEvent {
    AsyncEventKind kind{};
    wire::Qpn qpn{};
    CompletionQueue* cq = nullptr;
    SharedReceiveQueue* srq = nullptr;
};

/// Called on a shard's thread, rarely; port events on the thread that called Device::change_gids or Device::check_link.
/// Must not block, and must not call back into the device.
using AsyncEventHandler = std::function<void(const AsyncEvent&)>;

}  // namespace verbline::transport
