// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Constants of a neighbour engine, after RFC 4861, 10 and RFC 5227, 1.1, with the names that these give them.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "datapath/wire/types.h"
#include "pmd/base/time.h"
#include "pmd/base/tunables.h"

namespace verbline::neighbour {

/// How the caller uses the addresses that it resolves.
enum class Use : std::uint8_t {
    maintained,  ///< it keeps it, as a forwarding table does: verified for as long as the neighbour answers
    on_demand,   ///< it resolves again whenever it needs the neighbour: verified then, else expired
};

/// Which local addresses are probed for before they are announced.
enum class Detect : std::uint8_t { none, ipv6, all };

struct Parameters {
    Use use = Use::maintained;

    bool router = false;  ///< local addresses are a router's: sets ND's router flag (RFC 4861, 4.4)

    Time first_retry = 200 * millisecond;  ///< the first repeat comes early: most losses are of single packets
    Time retry = second;                   ///< RETRANS_TIMER
    unsigned multicast_tries = 3;          ///< MAX_MULTICAST_SOLICIT
    unsigned unicast_tries = 3;            ///< MAX_UNICAST_SOLICIT
    Time reachable = tunables::neighbour_reachable;  ///< REACHABLE_TIME: lifetime of a solicited answer
    Time delay = 5 * second;    ///< DELAY_FIRST_PROBE_TIME: from unsolicited information to its verification
    Time forget = 60 * second;  ///< lifetime of an entry that is not verified, from the neighbour's last message

    Detect detect_duplicates = Detect::none;
    std::uint64_t nonces = 0;             ///< random, for those of ND's probes (RFC 7527); 0: they have none
    Time probe_wait = 100 * millisecond;  ///< for answers to that probe
    bool use_tentative = true;            ///< an address is used while its probe is under way (not so RFC 4862, 5.4)
    unsigned announcements = 2;           ///< ANNOUNCE_NUM; at least one
    Time announce_interval = 2 * second;  ///< ANNOUNCE_INTERVAL
    Time defend_interval = 10 * second;   ///< DEFEND_INTERVAL

    /// Local addresses that one of several routers has at a time, as their daemons agree (VRRP, RFC 9568). Its holder
    /// announces such an address again and again, and yields it to whoever else does: a daemon that is killed leaves
    /// the address behind.
    std::vector<wire::Gid> virtual_addresses{};
    Time refresh_interval = second;  ///< from one announcement to the next
    Time yield_for = 3 * second;     ///< from another's last announcement until the address is taken back

    std::size_t capacity = 65'536;  ///< neighbours
    unsigned answers_per_second = 2'000, multicasts_per_second = 2'000, burst = 1'000;

    /// From the first solicitation of an address to its failure, if none is answered (RFC 4861, 7.2.2).
    constexpr Time resolution_timeout() const { return first_retry + (multicast_tries - 1) * retry; }
};

}  // namespace verbline::neighbour
