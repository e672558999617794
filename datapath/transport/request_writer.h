// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One packet of a request, as every transport sends it: the opcode from its place in the message, the headers that the
/// opcode wants, payload from registered memory (IBTA volume 1, 9.2 to 9.4).

#include <cstdint>

#include "datapath/transport/channel.h"
#include "datapath/transport/send_queue.h"
#include "datapath/transport/turn.h"

namespace verbline::transport {

/// How many packets a request is: one for each path MTU of payload, at least one. A READ takes as many PSNs as its
/// response has packets (IBTA 9.7.3.1).
std::uint32_t packets_of(const SendWork& work, const Channel& channel);

struct RequestPacket {
    std::uint32_t index = 0;  ///< in its message
    wire::Psn psn;
    bool ack_request = false;
    std::uint32_t read_packets = 0;  ///< READ: the part that is asked for
};

enum class Written : std::uint8_t { sent, no_room, local_error };

/// On local_error, `why` says which.
Written write_request(const Channel& channel, const SendWork& work, const RequestPacket& packet, Turn& turn,
                      Status& why) noexcept;

}  // namespace verbline::transport
