// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Writes one packet of a request, for every transport service: opcode by position in the message, the headers of that
/// opcode, payload from registered memory (IBTA volume 1, 9.2 to 9.4).

#include <cstdint>

#include "datapath/transport/poll_context.h"
#include "datapath/transport/queue_pair_context.h"
#include "datapath/transport/send_queue.h"

namespace verbline::transport {

/// Packets, and so PSNs, of a request: one per path MTU of payload, at least one; none for local operations. A READ
/// takes as many PSNs as its response has packets (IBTA 9.7.3.1).
std::uint32_t packets_of(const SendWork& work, const QueuePairContext& qp);

struct RequestPacket {
    std::uint32_t index = 0;  ///< position in the message
    wire::Psn psn;
    bool ack_request = false;
    std::uint32_t read_packets = 0;  ///< READ: response packets to request
};

enum class Written : std::uint8_t { sent, no_room, local_error };

/// Writes and commits a packet. no_room: nothing was written, retry later. local_error: `why` is the status of the
/// failed request.
Written write_request(const QueuePairContext& qp, const SendWork& work, const RequestPacket& packet,
                      PollContext& context, Status& why) noexcept;

}  // namespace verbline::transport
