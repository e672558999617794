// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The check of an arrived UD packet (IBTA volume 1, 9.6.1.4 and 10.5.2.1), the same for a program's queue pair
/// (queue_pair.h) and for IPoIB's (ud.h). What comes before differs between the two: whether the packet is addressed to
/// this port, and to which of its queue pairs.

#include <optional>

#include "datapath/transport/counters.h"
#include "datapath/transport/packet.h"
#include "datapath/wire/types.h"

namespace verbline::transport {

/// A UD queue pair as the receiver of a packet.
struct UdReceiver {
    wire::Qpn qpn{};
    wire::PKey pkey{};
    wire::QKey qkey{};
    bool any_pkey = false;  ///< QP1 receives in every partition of the port
};

/// The reason to drop a parsed packet that is addressed to the queue pair, or to a group that it is attached to; none
/// if it is accepted. The P_Key is checked before the Q_Key.
inline std::optional<UdDiscard> ud_discard(const Packet& packet, const UdReceiver& receiver) noexcept {
    if (packet.traits->service != Service::ud) return UdDiscard::rx_dropped_opcode;
    const auto deth = deth_of(packet);
    if (packet.own_multicast && deth.get<&wire::Deth::source>() == receiver.qpn)
        return UdDiscard::rx_dropped_own_multicast;
    if (!receiver.any_pkey && !wire::match(packet.pkey, receiver.pkey)) return UdDiscard::rx_dropped_pkey;
    if (deth.get<&wire::Deth::qkey>() != receiver.qkey) return UdDiscard::rx_dropped_qkey;
    return std::nullopt;
}

}  // namespace verbline::transport
