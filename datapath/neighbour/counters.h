// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Counters of a neighbour engine: the same events for both families, by the names of ARP and of ND.

#include <array>
#include <cstddef>
#include <cstdint>

#include "datapath/neighbour/message.h"
#include "pmd/base/counter.h"

namespace verbline::neighbour {

/// X(event, name, text).
#define VERBLINE_ARP_COUNTERS(X)                                                                                   \
    X(rx_requests, arp_rx_requests, "ARP requests received")                                                       \
    X(rx_replies, arp_rx_replies, "ARP replies and announcements received")                                        \
    X(rx_dropped_malformed, arp_rx_dropped_malformed,                                                              \
      "ARP that is truncated, of another kind, or of an impossible sender")                                        \
    X(rx_dropped_own, arp_rx_dropped_own, "our own ARP looped back")                                               \
    X(rx_dropped_conflict, arp_rx_dropped_conflict, "ARP of another host that claims one of our addresses")        \
    X(rx_dropped_not_ours, arp_rx_dropped_not_ours, "ARP requests for others, of senders we do not know")          \
    X(rx_dropped_no_link_address, arp_rx_dropped_no_link_address,                                                  \
      "ARP of hosts whose link-layer address is neither given nor known")                                          \
    X(rx_dropped_unsolicited, arp_rx_dropped_unsolicited, "unsolicited ARP replies of senders without an entry")   \
    X(rx_not_learned, arp_rx_not_learned, "senders not remembered: the table was full of neighbours in use")       \
    X(tx_multicasts, arp_tx_broadcasts, "ARP requests broadcast")                                                  \
    X(tx_probes, arp_tx_probes, "ARP requests sent to one neighbour, to see whether it is still there")            \
    X(tx_replies, arp_tx_replies, "ARP replies sent")                                                              \
    X(tx_announcements, arp_tx_announcements, "ARP requests sent for our own addresses: probes and announcements") \
    X(tx_dropped_rate, arp_tx_dropped_rate, "ARP requests and replies not sent because of the rate limit")         \
    X(changed, arp_changed, "times that a neighbour's link-layer address changed")                                 \
    X(failed, arp_failed, "addresses that no host answered for")                                                   \
    X(failed_no_source, arp_failed_no_source, "addresses not solicited: not on the link, or no local address")     \
    X(removed, arp_removed, "neighbours that were known and no longer answer")                                     \
    X(evicted, arp_evicted, "neighbours evicted because the table was full")

#define VERBLINE_ND_COUNTERS(X)                                                                                     \
    X(rx_requests, nd_rx_solicitations, "neighbour solicitations received")                                         \
    X(rx_replies, nd_rx_advertisements, "neighbour advertisements received")                                        \
    X(rx_dropped_malformed, nd_rx_dropped_malformed, "neighbour discovery that breaks its rules")                   \
    X(rx_dropped_own, nd_rx_dropped_own, "our own neighbour discovery looped back")                                 \
    X(rx_dropped_conflict, nd_rx_dropped_conflict, "neighbour discovery of another host that claims our address")   \
    X(rx_dropped_not_ours, nd_rx_dropped_not_ours, "neighbour solicitations for others, of senders we do not know") \
    X(rx_dropped_no_link_address, nd_rx_dropped_no_link_address,                                                    \
      "neighbour discovery of hosts whose link-layer address is neither given nor known")                           \
    X(rx_dropped_unsolicited, nd_rx_dropped_unsolicited,                                                            \
      "unsolicited neighbour advertisements of hosts without an entry")                                             \
    X(rx_not_learned, nd_rx_not_learned, "soliciting hosts not learned because the table was full")                 \
    X(tx_multicasts, nd_tx_solicitations, "neighbour solicitations sent to groups")                                 \
    X(tx_probes, nd_tx_probes, "neighbour solicitations sent to one neighbour, to see whether it is there")         \
    X(tx_replies, nd_tx_advertisements, "neighbour advertisements sent in reply")                                   \
    X(tx_announcements, nd_tx_announcements,                                                                        \
      "neighbour discovery sent for our own addresses: probes and announcements")                                   \
    X(tx_dropped_rate, nd_tx_dropped_rate, "neighbour discovery not sent because of the rate limit")                \
    X(changed, nd_changed, "times that a neighbour's link-layer address changed")                                   \
    X(failed, nd_failed, "IPv6 addresses that no host answered for")                                                \
    X(failed_no_source, nd_failed_no_source, "IPv6 addresses not solicited: not on the link, or no local address")  \
    X(removed, nd_removed, "neighbours that were known and no longer answer")                                       \
    X(evicted, nd_evicted, "neighbours evicted because the table was full")

#define VERBLINE_NEIGHBOUR_EVENT(event, name, help) event,
#define VERBLINE_NEIGHBOUR_TEXT(event, name, help) EventText{Event::event, {#name, help}},

enum class Event : std::uint8_t { VERBLINE_ARP_COUNTERS(VERBLINE_NEIGHBOUR_EVENT) };

class ResolutionCounters {
public:
    void add(Family family, Event event) { counters_[index(family)][index(event)].add(); }
    void add(const wire::Gid& address, Event event) { add(family_of(address), event); }

    /// The sum of both families.
    std::uint64_t value(Event event) const {
        return counters_[0][index(event)].value() + counters_[1][index(event)].value();
    }
    void each(Family family, const CounterVisitor& visit) const {
        for (const auto& [event, text] : texts[index(family)]) {
            visit(text.name, counters_[index(family)][index(event)].value(), text.help);
        }
    }

private:
    struct EventText {
        Event event;
        CounterText text;
    };
    static constexpr std::array texts{std::array{VERBLINE_ARP_COUNTERS(VERBLINE_NEIGHBOUR_TEXT)},
                                      std::array{VERBLINE_ND_COUNTERS(VERBLINE_NEIGHBOUR_TEXT)}};
    static constexpr std::size_t index(auto value) { return static_cast<std::size_t>(value); }

    std::array<std::array<Counter, texts[0].size()>, 2> counters_;  ///< IPv4's, IPv6's
};

}  // namespace verbline::neighbour
