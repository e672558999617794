// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Neighbour discovery on an IPoIB link (RFC 4861, 7.2; RFC 4391, 8 and 9.3): resolves an IPv6 address to a GID and
/// QPN, for programs that only connect by it.
///
///                 resolve                  solicited answer       `reachable` later
///      (none) ──> INCOMPLETE ──────────────> REACHABLE ──────────> STALE ── resolve: PROBE, unicast
///                   │ `tries` without any       ^                    ^        │ no answer
///                   v                           └──── answer ────────┼────────┤
///                 Failed, (none)                      asked for us ──┘        v (none)
///
/// `resolve()` answers from a STALE entry at once and probes in the background (RFC 4861, 7.3.3). Senders of
/// solicitations for our addresses are learnt for `reachable`. Unsolicited advertisements add no entries. Our own
/// addresses are announced, but no duplicate address detection is done, as for IPv4 (host::Arp).
///
/// Pure: no I/O, no clock. Owned by the control thread. Time is the caller's, in nanoseconds.

#include <cstdint>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "datapath/link/interface_address.h"
#include "datapath/neighbour/discovery.h"
#include "datapath/wire/types.h"
#include "pmd/base/counter.h"
#include "pmd/base/time.h"
#include "pmd/base/token_bucket.h"
#include "pmd/base/tunables.h"

namespace verbline::ipoib {

struct IpoibDiscoveryTiming {
    Time first_retry = 200 * millisecond;  ///< the first repeat comes early: most losses are of single packets
    Time retry = second;                   ///< RFC 4861, 10: RETRANS_TIMER
    unsigned tries = 3;                    ///< MAX_MULTICAST_SOLICIT, MAX_UNICAST_SOLICIT
    Time reachable = tunables::neighbour_reachable;  ///< REACHABLE_TIME
    unsigned announcements = 2;                      ///< MAX_NEIGHBOR_ADVERTISEMENT is 3
    Time announce_interval = 2 * second;
    unsigned answers_per_second = 2'000, burst = 1'000;
};

#define VERBLINE_IPOIB_DISCOVERY_COUNTERS(X)                                                     \
    X(nd_rx_solicitations, "neighbour solicitations received")                                   \
    X(nd_rx_advertisements, "neighbour advertisements received")                                 \
    X(nd_rx_dropped_type, "IPv6 packets received that are no neighbour discovery")               \
    X(nd_rx_dropped_malformed, "neighbour discovery that breaks its rules")                      \
    X(nd_rx_dropped_own, "our own neighbour discovery come back to us")                          \
    X(nd_rx_dropped_conflict, "neighbour discovery of another host that claims our address")     \
    X(nd_rx_dropped_not_ours, "neighbour solicitations for others")                              \
    X(nd_rx_dropped_no_way, "neighbour solicitations of hosts that do not say where they are")   \
    X(nd_rx_dropped_unsolicited, "neighbour advertisements of hosts that nobody asked for")      \
    X(nd_rx_not_learned, "hosts that asked for us and found the table full")                     \
    X(nd_tx_solicitations, "neighbour solicitations sent to groups")                             \
    X(nd_tx_probes, "neighbour solicitations sent to one neighbour, to see whether it is there") \
    X(nd_tx_advertisements, "neighbour advertisements sent to who asked")                        \
    X(nd_tx_announcements, "neighbour advertisements sent to all, unasked")                      \
    X(nd_tx_dropped_rate, "neighbour advertisements not sent because of the rate limit")         \
    X(nd_changed, "times that a neighbour's link-layer address changed")                         \
    X(nd_failed, "IPv6 addresses that nobody answered for")                                      \
    X(nd_removed, "neighbours that were known and no longer answer")                             \
    X(nd_evicted, "neighbours given up because the table was full")

struct IpoibDiscoveryCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_IPOIB_DISCOVERY_COUNTERS)
};

class IpoibDiscovery {
public:
    static constexpr std::size_t default_capacity = 1024;

    /// A packet from the IPv6 header on.
    struct Send {
        std::vector<std::byte> packet;
        std::variant<wire::Gid, wire::IpoibAddress> to;  ///< an IPv6 multicast address, or a neighbour
    };
    struct Resolved {
        wire::Gid address{};
        wire::IpoibAddress link{};
    };
    struct Failed {
        wire::Gid address{};
    };
    using Action = std::variant<Send, Resolved, Failed>;
    using Actions = std::vector<Action>;

    explicit IpoibDiscovery(const wire::IpoibAddress& own, const IpoibDiscoveryTiming& timing = {},
                            std::size_t capacity = default_capacity);

    /// Sets our link-layer address.
    void set_link(const wire::IpoibAddress& own) { own_ = own; }
    /// Sets our IPv6 addresses, the link-local one included; IPv4 entries are ignored.
    void set_addresses(const std::vector<link::InterfaceAddress>& addresses);

    Actions resolve(const wire::Gid& address, Time now);
    /// An IPv6 packet from the link.
    Actions received(wire::Bytes packet, Time now);
    /// Starts unsolicited advertisements of our addresses to all nodes, repeated `announcements` times.
    void announce(Time now);
    /// Call at or after `deadline`.
    Actions tick(Time now);

    std::optional<Time> deadline() const;
    /// IPv6 groups to listen to: solicited-node groups of our addresses, and all-nodes.
    std::vector<wire::Gid> groups() const;
    std::size_t size() const { return table_.size(); }
    const IpoibDiscoveryCounters& counters() const { return counters_; }

private:
    enum class State : std::uint8_t { incomplete, reachable, stale, probe };
    struct Entry {
        std::optional<wire::IpoibAddress> link;  ///< none while incomplete
        State state = State::incomplete;
        unsigned tries = 0;
        Time due = 0;
    };
    using Table = std::map<wire::Gid, Entry>;
    using Message = neighbour::Discovery<wire::IpoibAddress>;

    bool owns(const wire::Gid& address) const;
    std::optional<wire::Gid> source_for(const wire::Gid& address) const;
    void ask(Table::value_type& entry, Time now, Actions& out);
    bool expire(Table::value_type& entry, Time now, Actions& out);
    void hear_solicitation(const Message& message, Time now, Actions& out);
    void hear_advertisement(const Message& message, Time now, Actions& out);
    void answer(const Message& message, const std::optional<wire::IpoibAddress>& to, Time now, Actions& out);
    void announce_once(Actions& out);
    void confirm(Table::value_type& entry, const wire::IpoibAddress& link, bool solicited, Time now, Actions& out);
    bool make_room(bool asked);

    wire::IpoibAddress own_;
    IpoibDiscoveryTiming timing_;
    std::size_t capacity_;
    TokenBucket answers_;
    std::vector<link::InterfaceAddress> addresses_;
    Table table_;
    unsigned announcements_left_ = 0;
    Time announce_due_ = 0;
    IpoibDiscoveryCounters counters_;
};

}  // namespace verbline::ipoib
