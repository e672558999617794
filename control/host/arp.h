// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Address resolution on one interface (RFC 826; RFC 4391, 9.1 over InfiniBand), and reachability of neighbours (the
/// states of RFC 4861, 7.3.2, used for IPv4 as well).
///
///     datapath ── resolve(ip) ──>  ┌───────────┐  ──> Resolved, Failed, Removed ──> datapath
///     link ────── received ─────>  │ neighbours│  ──> SendArp ──────────────────> link
///                 tick ─────────>  └───────────┘
///
///                 resolve                reply                  `reachable` later
///      (none) ──> INCOMPLETE ──────────> REACHABLE ──────────────────────> PROBE: unicast, then broadcast
///                   │ no answer: Failed   ^  │ another address seen           │ reply: REACHABLE
///                   v                     │  v              `delay` later    │ no answer: Removed
///                 (none)                  └─ STALE ─────────────────────────>┘
///
/// The datapath gets Resolved for an address once it has asked for it, and then every change until Failed or Removed;
/// traffic to a neighbour continues while it is STALE or probed. Every message that could be forged or outdated is
/// verified by a probe, so that a wrong entry lasts no longer than `delay`, or `reachable` if it answered us. Senders
/// of requests for our addresses are learnt, but reported only once the datapath asks: what others send cannot fill the
/// datapath's tables, nor evict neighbours in use.
///
/// Pure: no I/O, no clock. Owned by the control thread. Time is the caller's, in nanoseconds.

#include <array>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "control/host/arp_message.h"
#include "control/host/kernel_event.h"
#include "pmd/base/counter.h"
#include "pmd/base/time.h"
#include "pmd/base/token_bucket.h"
#include "pmd/base/tunables.h"

namespace verbline::host {

struct ArpTiming {
    Time first_retry = 200 * millisecond;  ///< the first repeat comes early: most losses are of single packets
    Time retry = second;
    unsigned broadcast_tries = 3;
    unsigned unicast_tries = 3;
    Time reachable = tunables::neighbour_reachable;  ///< lifetime of a solicited answer
    Time delay = 5 * second;                         ///< time from unsolicited information to its verification
    Time learned = 60 * second;                      ///< lifetime of an entry that the datapath has not asked for
    unsigned announcements = 2;                      ///< RFC 5227, 2.3 and 2.4
    Time announce_interval = 2 * second;
    Time defend_interval = 10 * second;
};

struct ArpLimits {
    std::size_t neighbours = 65'536;
    unsigned answers_per_second = 2'000, broadcasts_per_second = 2'000, burst = 1'000;
};

#define VERBLINE_ARP_COUNTERS(X)                                                                      \
    X(arp_rx_requests, "ARP requests received")                                                       \
    X(arp_rx_replies, "ARP replies received")                                                         \
    X(arp_rx_dropped_malformed, "ARP that is truncated, of another kind, or of an impossible sender") \
    X(arp_rx_dropped_own, "our own ARP come back to us")                                              \
    X(arp_rx_dropped_conflict, "ARP of another host that claims one of our addresses")                \
    X(arp_rx_dropped_not_ours, "ARP requests for others, of senders we do not know")                  \
    X(arp_rx_dropped_unsolicited, "ARP replies nobody asked for, of senders we do not know")          \
    X(arp_rx_not_learned, "senders not remembered: the table was full of neighbours in use")          \
    X(arp_tx_broadcasts, "ARP requests broadcast")                                                    \
    X(arp_tx_probes, "ARP requests sent to one neighbour, to see whether it is still there")          \
    X(arp_tx_replies, "ARP replies sent")                                                             \
    X(arp_tx_announcements, "gratuitous ARP requests sent")                                           \
    X(arp_tx_dropped_rate, "ARP requests and replies not sent because of the rate limit")             \
    X(arp_changed, "times that a neighbour's link-layer address changed")                             \
    X(arp_failed, "addresses that nobody answered for")                                               \
    X(arp_failed_no_source, "addresses not asked for: not a neighbour's, or we have no address")      \
    X(arp_removed, "neighbours that were known and no longer answer")                                 \
    X(arp_evicted, "neighbours given up because the table was full")

struct ArpCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_ARP_COUNTERS)
};

class Arp {
public:
    struct SendArp {
        ArpMessage message;
        std::optional<HardwareAddress> to;  ///< none: broadcast
    };
    struct Resolved {
        wire::Ipv4Address ip;
        HardwareAddress link;
    };
    struct Failed {  ///< not resolved: drop queued packets; may be asked for again
        wire::Ipv4Address ip;
    };
    struct Removed {  ///< no longer reachable; ask again if needed
        wire::Ipv4Address ip;
    };
    using Action = std::variant<SendArp, Resolved, Failed, Removed>;
    using Actions = std::vector<Action>;

    enum class State : std::uint8_t { incomplete, reachable, stale, probe };
    struct Neighbour {
        wire::Ipv4Address ip{};
        HardwareAddress link;  ///< all zero while incomplete
        State state{};
        Time age = 0;  ///< since its last answer, or since it was learnt
    };

    explicit Arp(const HardwareAddress& own, const ArpTiming& timing = {}, const ArpLimits& limits = {});

    /// Sets our link-layer address, which must stay of the same kind. Call `announce` to inform the neighbours.
    void set_link(const HardwareAddress& own) { own_ = own; }
    Actions set_addresses(std::vector<wire::Ipv4Prefix> addresses);

    /// The datapath wants to reach `ip`.
    Actions resolve(wire::Ipv4Address ip, Time now);
    /// A received ARP packet, from its hardware type on.
    Actions received(wire::Bytes packet, Time now);
    /// Starts gratuitous ARP for our addresses, repeated `announcements` times: at start, and when an address changed.
    Actions announce(Time now);
    /// The link is down: clears the table, with Failed and Removed for the datapath.
    Actions clear();
    /// Call at or after `deadline()`.
    Actions tick(Time now);

    std::optional<Time> deadline() const;
    std::vector<Neighbour> neighbours(Time now) const;
    const ArpCounters& counters() const { return counters_; }

private:
    enum class Phase : std::uint8_t { incomplete, reachable, stale, probe_unicast, probe_broadcast };
    /// Eviction order when the table is full, first to last.
    enum class Value : std::uint8_t { learned, incomplete, in_use };
    using Order = std::list<wire::Ipv4Address>;

    struct Entry {
        HardwareAddress link;
        Phase phase = Phase::incomplete;
        bool asked = false;  ///< the datapath has asked for it and gets its changes
        unsigned tries = 0;
        Time due = 0;
        Time since = 0;
        Value value = Value::learned;
        Order::iterator place;
    };
    using Table = std::map<wire::Ipv4Address, Entry>;
    using Known = Table::iterator;

    Known insert(wire::Ipv4Address ip, Time now);
    void erase(Known known);
    void drop(Known known, Actions& out);
    bool make_room(bool asked, Actions& out);
    void appraise(Known known);
    void schedule(Known known, Time due);

    void ask(Known known, Time now, Actions& out);
    void probe(Known known, Phase phase, Time now, Actions& out);
    void expire(Known known, Time now, Actions& out);
    void confirm(Known known, const HardwareAddress& link, bool solicited, Time now, Actions& out);
    void hear_request(const ArpMessage& message, Time now, Actions& out);
    void hear_reply(const ArpMessage& message, Time now, Actions& out);
    void answer(const ArpMessage& request, Time now, Actions& out);
    void defend(Time now, Actions& out);
    void announce_once(Time now, Actions& out);

    bool is_own(wire::Ipv4Address ip) const;
    bool on_link(wire::Ipv4Address ip) const;
    std::optional<wire::Ipv4Address> source_for(wire::Ipv4Address ip) const;

    HardwareAddress own_;
    std::vector<wire::Ipv4Prefix> addresses_;
    ArpTiming timing_;
    ArpLimits limits_;
    TokenBucket answers_, broadcasts_;

    Table table_;
    std::set<std::pair<Time, wire::Ipv4Address>> agenda_;  ///< all entries, by `due`
    std::array<Order, 3> order_;                           ///< by Value; oldest change first
    unsigned announcements_left_ = 0;
    Time announce_due_ = 0;
    std::optional<Time> defended_;
    ArpCounters counters_;
};

std::string_view to_string(Arp::State state);

}  // namespace verbline::host
