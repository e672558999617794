// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Neighbour table of an Ethernet link without a kernel stack (RFC 826, RFC 4861), and the local addresses on it:
/// answers requests, probes and announces (RFC 5227; RFC 4862, 5.4).
///
///     solicit(gid) ──> frame ──> link        link ──> received(frame) ──> reply
///     lookup(gid)  ──> MAC                   due(now) ──> probe, announcement
///
/// Addresses are GIDs: IPv6, or IPv4 mapped. Entries are created only for addresses requested by `solicit`, from the
/// answer, and for hosts that request a local address, from the request; other messages only update existing entries.
/// An entry is valid for `lifetime` after its last confirmation. Retransmission of requests is left to the caller.
///
/// Local addresses are used at once, while the probe is under way: a program need not wait for its address, and
/// `conflict` reports if another host has it.
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
    Time probe_wait = 100 * millisecond;  ///< for answers to the probe of a local address, which is announced after
                                          ///< that
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

    /// Replaces the local addresses; fe80::<EUI-64 of the MAC> is always one in addition. New ones are probed for and
    /// announced.
    void set_addresses(const std::vector<Address>& addresses, Time now);

    struct Outcome {
        bool taken = false;  ///< it was ARP or ND, and must not be passed on
        std::optional<Frame> reply{};
    };
    /// Processes a received frame, from the Ethernet header on.
    Outcome received(wire::Bytes frame, Time now);

    /// The MAC address of `gid`, if known. That of fe80::<EUI-64> is derived from the address; that of a local address
    /// is `mac()`.
    std::optional<wire::MacAddress> lookup(const wire::Gid& gid, Time now) const;
    /// Returns the request for `gid`; none if there is no local address of its family as a source, or no host can have
    /// it.
    std::optional<Frame> solicit(const wire::Gid& gid, Time now);

    /// The next probe or announcement that is due for local addresses. Call at or after `deadline`, until it returns
    /// none.
    std::optional<Frame> due(Time now);
    std::optional<Time> deadline() const;

    bool owns(const wire::Gid& gid) const { return own(gid) != nullptr; }
    /// A local address that another host has claimed as well, if any.
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
        bool lost = false;      ///< and had it first: neither answered for nor used as a source

        /// True once it has been announced: a later claimant is the one at fault.
        bool established() const { return !due || sent >= 2; }
    };
    struct Entry {
        std::optional<wire::MacAddress> mac;  ///< none: requested
        Time heard = 0;                       ///< when last confirmed, or requested
        bool asked = false;                   ///< requested locally: not evicted for a host that only asks us
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
