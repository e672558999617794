// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IP on an Ethernet link (RFC 894): strips the header on receive, prepends it on transmit.

#include <optional>

#include "datapath/link/interface.h"

namespace verbline::link {

#define VERBLINE_ETHERNET_COUNTERS(X)                                    \
    X(rx_dropped_malformed, "frames shorter than their Ethernet header") \
    X(rx_dropped_not_ours, "unicast frames for another MAC address")

struct EthernetCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_ETHERNET_COUNTERS)
};

/// Builds a destination on an Ethernet link, for packets of EtherType `type`.
Destination ethernet_destination(wire::MacAddress from, wire::MacAddress to, wire::EtherType type);
/// Makes any destination on an Ethernet link that of a group (RFC 1112, 6.4; RFC 2464, 7).
void set_ethernet_group(Destination& destination, wire::Ipv4Address group);
void set_ethernet_group(Destination& destination, const wire::Ipv6Address& group);

class EthernetInterface final : public Interface {
public:
    using Interface::Interface;

    /// Sets the interface's own address; while there is none, nothing is received or sent. Shard thread.
    void set_mac(std::optional<wire::MacAddress> mac) { mac_ = mac; }

    void receive(Reception& out) noexcept override;
    void transmit(pmd::Burst packets, Destinations to) noexcept override;
    using Interface::transmit;
    void counters(const CounterVisitor& visit) const override;

private:
    bool is_for_us(const rte_mbuf& frame) const noexcept;
    void receive_other(rte_mbuf* frame, Reception& out) noexcept;
    void discard(rte_mbuf* frame, Counter& why) noexcept;

    std::optional<wire::MacAddress> mac_;
    EthernetCounters ethernet_counters_;
};

}  // namespace verbline::link
