// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Who has which address on an Ethernet link that no kernel looks after (RFC 826, RFC 4861), and our own addresses
/// there: answered for, probed for and announced (RFC 5227; RFC 4862, 5.4).
///
///     solicit(gid) ──> frame ──> link        link ──> received(frame) ──> reply
///     lookup(gid)  ──> MAC                   due(now) ──> probe, announcement
///
/// Addresses are GIDs: IPv6, or IPv4 mapped. What is asked for is learned from the answer, who asks us is learned from
/// the question; nobody else can add to the table, and others' statements only change what is there. An entry is
/// believed for `lifetime` after it was last heard of. It is the caller who repeats a question.
///
/// Our addresses are answered for at once, while the probe is under way: a program need not wait for its address, and
/// finds out by `conflict` if it was another's.
///
/// Pure: no I/O, no clock. One thread at a time. Time is the caller's.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "datapath/link/interface_address.h"
#include "datapath/neighbour/message.h"
#include "pmd/base/counter.h"
#include "pmd/base/time.h"

namespace verbline::neighbour {

using Address = link::InterfaceAddress;

struct Timing {
    Time lifetime = 60 * second;
    Time probe_wait = 100 * millisecond;  ///< for the answer of who has our address; announced after that
    Time announce_interval = 2 * second;  ///< RFC 5227, 1.1: ANNOUNCE_INTERVAL
    unsigned announcements = 2;           ///< ANNOUNCE_NUM
    Time defend_interval = 10 * second;   ///< DEFEND_INTERVAL
};

#define VERBLINE_NEIGHBOUR_COUNTERS(X)                                                              \
    X(neighbour_rx_requests, "ARP requests and neighbour solicitations received")                   \
    X(neighbour_rx_replies, "ARP replies, neighbour advertisements and announcements received")     \
    X(neighbour_rx_dropped_malformed, "ARP and ND that break their rules")                          \
    X(neighbour_rx_dropped_conflict, "ARP and ND of another host that claims one of our addresses") \
    X(neighbour_rx_dropped_unknown, "statements of hosts that we do not talk to")                   \
    X(neighbour_rx_not_learned, "hosts that asked for us and found the table full")                 \
    X(neighbour_tx_requests, "ARP requests and neighbour solicitations sent")                       \
    X(neighbour_tx_replies, "ARP replies and neighbour advertisements sent")                        \
    X(neighbour_tx_announcements, "probes for and announcements of our addresses")                  \
    X(neighbour_changed, "times that a neighbour's MAC address changed")                            \
    X(neighbour_evicted, "neighbours forgotten because the table was full")

struct NeighbourCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_NEIGHBOUR_COUNTERS)
};

class Neighbours {
public:
    static constexpr std::size_t default_capacity = 1024;

    explicit Neighbours(const wire::MacAddress& mac, const Timing& timing = {},
                        std::size_t capacity = default_capacity);

    /// All of them; fe80::<EUI-64 of the MAC> is ours besides. Those that are new are probed for and announced.
    void set_addresses(const std::vector<Address>& addresses, Time now);

    struct Outcome {
        bool taken = false;  ///< it was ARP or ND, and nobody else's business
        std::optional<Frame> reply{};
    };
    /// A frame from the link, from the Ethernet header on.
    Outcome received(wire::Bytes frame, Time now);

    /// Where `gid` is, if that is known. fe80::<EUI-64> says it itself; our own addresses are where we are.
    std::optional<wire::MacAddress> lookup(const wire::Gid& gid, Time now) const;
    /// The question for it; none if we have no address of that family to ask from, or nobody can have it.
    std::optional<Frame> solicit(const wire::Gid& gid, Time now);

    /// The next frame that is due for our own addresses. Call until there is none, at or after `deadline`.
    std::optional<Frame> due(Time now);
    std::optional<Time> deadline() const;

    bool owns(const wire::Gid& gid) const { return own(gid) != nullptr; }
    /// One of our addresses that another host has shown to have, too.
    std::optional<wire::Gid> conflict() const;

    const wire::MacAddress& mac() const { return mac_; }
    std::size_t size() const { return table_.size(); }
    const NeighbourCounters& counters() const { return counters_; }

private:
    struct Own {
        Address address;
        unsigned sent = 0;        ///< the probe, then announcements
        std::optional<Time> due;  ///< none: nothing more to send
        std::optional<Time> defended{};
        bool conflict = false;  ///< another host has it, too
        bool lost = false;      ///< and had it first: not answered for, nor asked from

        /// Once it has been announced, it is the other who came later.
        bool established() const { return !due || sent >= 2; }
    };
    struct Entry {
        std::optional<wire::MacAddress> mac;  ///< none: asked for
        Time heard = 0;                       ///< or asked
        bool asked = false;                   ///< by us, and so not given up for one who asks
    };

    const Own* own(const wire::Gid& gid) const;
    Own* own(const wire::Gid& gid);
    bool on_link(const wire::Gid& gid) const;
    std::optional<wire::Gid> source_for(const wire::Gid& gid) const;
    void lose(Own& mine);
    std::optional<Frame> defend(Own& mine, Time now);
    void hear(const Message& message, bool create, Time now);
    bool make_room(bool asked);

    wire::MacAddress mac_;
    Timing timing_;
    std::size_t capacity_;
    std::vector<Own> own_;
    std::map<wire::Gid, Entry> table_;
    NeighbourCounters counters_;
};

/// The MAC address in fe80::<EUI-64>, the inverse of link::link_local_gid.
std::optional<wire::MacAddress> mac_in(const wire::Gid& gid);

}  // namespace verbline::neighbour
