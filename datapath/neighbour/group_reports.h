// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Tells the routers and switches of an Ethernet link which multicast groups we are in, where no kernel does so for us:
/// the host side of IGMPv2, IGMPv3 (RFC 2236, RFC 3376), MLDv1 and MLDv2 (RFC 2710, RFC 3810).
///
///     join   ──> a report now, and again after a random time: the first may be lost
///     query  ──> a report after a random part of the time that the querier allows (spread, so that not all answer at
///     once) leave  ──> a leave now, and again
///
///     newest version until an older querier is heard, then the older for `older_querier` after its last query; in it,
///     a group that another host has reported need not be reported by us too
///
/// Groups are GIDs (IPv4 ones mapped). Users of one group are counted by the caller: a group is in once, or not.
/// Groups that need no report (all nodes, interface-local ones) are taken and kept quiet about.
///
/// Pure: no I/O, no clock. One thread. Play what is returned: send the packets, and call `tick` at or after `deadline`.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "datapath/neighbour/group_message.h"
#include "datapath/wire/types.h"
#include "pmd/base/counter.h"
#include "pmd/base/time.h"

namespace verbline::neighbour {

struct GroupTiming {
    unsigned robustness = 2;       ///< how often a change is told
    Time newer_interval = second;  ///< at most, between telling it twice
    Time older_interval = 10 * second;
    Time older_querier = 260 * second;  ///< two query intervals and ten seconds (RFC 3376, 8.12)
    std::size_t most_groups = 4'096;
};

#define VERBLINE_GROUP_REPORT_COUNTERS(X)                                              \
    X(tx_group_reports, "reports of multicast groups")                                 \
    X(tx_group_leaves, "leaves of multicast groups, version 2 of IGMP or 1 of MLD")    \
    X(rx_group_queries, "queries for multicast groups")                                \
    X(rx_group_reports, "other hosts' reports of groups that we need not report then") \
    X(group_limit_hits, "groups not reported because there are too many")

struct GroupCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_GROUP_REPORT_COUNTERS)
};

class GroupReports {
public:
    using Packets = std::vector<GroupPacket>;

    /// `seed` makes the random times: differently on each host.
    explicit GroupReports(std::uint64_t seed, GroupTiming timing = {}) : timing_(timing), random_(seed) {}

    /// Our addresses have changed. What is to be told is told again: it may have been without an address.
    void set_source(const ReportSource& source, Time now);

    Packets join(const wire::Gid& group, Time now);
    Packets leave(const wire::Gid& group, Time now);
    /// A packet that came on the link, from the IP header on; anything but IGMP and MLD is ignored.
    void received(wire::Bytes ip_packet, Time now);
    Packets tick(Time now);
    std::optional<Time> deadline() const;

    const GroupCounters& counters() const { return counters_; }
    /// Groups that we are in, or have yet to tell that we left.
    std::size_t size() const { return groups_.size(); }

private:
    struct Group {
        bool in = true;
        unsigned changes = 0;  ///< how often the change is still to be told
        Time next_change = 0;
        std::optional<Time> answer;  ///< when the query for it is answered
        bool told_last = false;      ///< by us, in the older version: then we say so when we leave
    };
    GroupProtocol version(const wire::Gid& group, Time now) const;
    Time random_time(Time most);
    void queried(const GroupMessage& query, Time now);
    void change(Group& group, const wire::Gid& gid, std::vector<GroupRecord>& records, Packets& out, Time now);
    void pack(std::vector<GroupRecord>& records, Packets& out);
    std::optional<Time> due(const Group& group) const;

    GroupTiming timing_;
    std::mt19937_64 random_;
    ReportSource source_;
    std::map<wire::Gid, Group> groups_;  ///< IPv4 ones together
    std::array<Time, 2> older_until_{};  ///< when the older querier is forgotten: of IPv4, of IPv6
    GroupCounters counters_;
};

}  // namespace verbline::neighbour
