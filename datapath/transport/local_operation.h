// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Work that never leaves: binding a memory window, invalidating one (IBTA volume 1, 10.6.6 and 10.6.7).

#include "datapath/memory/key_table.h"
#include "datapath/transport/channel.h"
#include "datapath/transport/send_queue.h"

namespace verbline::transport {

/// `work` is local_invalidate or bind_window.
Status execute_local(const SendWork& work, const Channel& channel, memory::KeyTable& keys) noexcept;

}  // namespace verbline::transport
