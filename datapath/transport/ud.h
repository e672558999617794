// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Unreliable datagrams of IPoIB: admission checks for a UD packet, without a full queue pair (IBTA volume 1, 9.8.3 and
/// 9.6.1).
///
/// Owned by one shard. No I/O.

#include <cstdint>
#include <expected>
#include <vector>

#include "datapath/link/soft_ib.h"
#include "datapath/wire/types.h"
#include "pmd/base/counter.h"

namespace verbline::transport {

#define VERBLINE_UD_DISCARDS(X)                                                           \
    X(rx_dropped_not_ours, "packets for another LID, or a multicast LID nobody attached") \
    X(rx_dropped_qpn, "packets for a queue pair that does not exist")                     \
    X(rx_dropped_pkey, "packets whose P_Key does not match the queue pair's")             \
    X(rx_dropped_qkey, "packets whose Q_Key is not the queue pair's")                     \
    X(rx_dropped_own_multicast, "our own multicast packets, come back to us")

VERBLINE_COUNTER_ENUM(UdDiscard, VERBLINE_UD_DISCARDS)

/// One UD queue pair at one port, and the multicast groups it is attached to.
class UdQueuePair {
public:
    struct Attributes {
        wire::Lid lid{};
        wire::Qpn qpn{};
        wire::PKey pkey{0xffff};
        wire::QKey qkey{};
    };

    explicit UdQueuePair(const Attributes& attributes) : attributes_(attributes) {}

    const Attributes& attributes() const { return attributes_; }
    void attach(wire::Lid mlid);  ///< idempotent
    void detach(wire::Lid mlid);

    /// Accepts the packet for this queue pair, or returns the reason to discard it. The P_Key is checked before the
    /// Q_Key (IBTA 9.6.1.4).
    std::expected<void, UdDiscard> admit(const link::soft_ib::Datagram& packet) const noexcept;
    /// The PSN of the next packet sent.
    wire::Psn next_psn() { return wire::Psn(next_psn_++); }

private:
    Attributes attributes_;
    std::vector<wire::Lid> groups_;  ///< few: searched linearly
    std::uint32_t next_psn_ = 0;
};

}  // namespace verbline::transport
