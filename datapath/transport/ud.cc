// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/ud.h"

#include <algorithm>

namespace verbline::transport {

void UdQueuePair::attach(wire::Lid mlid) {
    if (std::ranges::find(groups_, mlid) == groups_.end()) groups_.push_back(mlid);
}

void UdQueuePair::detach(wire::Lid mlid) {
    std::erase(groups_, mlid);
}

std::expected<void, UdDiscard> UdQueuePair::admit(const link::soft_ib::Datagram& packet) const noexcept {
    if (wire::is_multicast(packet.dlid)) {
        if (std::ranges::find(groups_, packet.dlid) == groups_.end()) {
            return std::unexpected(UdDiscard::rx_dropped_not_ours);
        }
        if (packet.destination != wire::multicast_qpn) return std::unexpected(UdDiscard::rx_dropped_qpn);
        if (packet.slid == attributes_.lid && packet.source == attributes_.qpn) {
            return std::unexpected(UdDiscard::rx_dropped_own_multicast);
        }
    } else {
        if (packet.dlid != attributes_.lid) return std::unexpected(UdDiscard::rx_dropped_not_ours);
        if (packet.destination != attributes_.qpn) return std::unexpected(UdDiscard::rx_dropped_qpn);
    }
    if (!wire::match(packet.pkey, attributes_.pkey)) return std::unexpected(UdDiscard::rx_dropped_pkey);
    if (packet.qkey != attributes_.qkey) return std::unexpected(UdDiscard::rx_dropped_qkey);
    return {};
}

}  // namespace verbline::transport
