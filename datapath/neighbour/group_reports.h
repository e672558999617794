// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Reports multicast group memberships to the routers and switches of an Ethernet link, if no kernel does so: the host
/// side of IGMPv2, IGMPv3 (RFC 2236, RFC 3376), MLDv1 and MLDv2 (RFC 2710, RFC 3810).
///
///     join   ──> a report now, and again after a random time, since the first may be lost
///     query  ──> a report after a random delay up to the query's maximum response time
///     leave  ──> a leave now, and again after a random time
///
/// Uses the newest version, but the older one while an older querier is present: until `older_querier` after its last
/// query. In the older version a group that another host has just reported is not reported again.
///
/// Groups are GIDs (IPv4 ones mapped). Memberships are not counted: the caller counts users of a group. Groups that
/// need no report (all nodes, interface-local ones) are accepted but not reported.
///
/// Pure: no I/O, no clock. One thread. The caller must send the packets returned, and call `tick` at or after
/// `deadline`.

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
    unsigned robustness = 2;       ///< how often a change is reported
    Time newer_interval = second;  ///< at most, between two reports of it
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

    /// `seed` of the random delays; should differ between hosts.
    explicit GroupReports(std::uint64_t seed, GroupTiming timing = {}) : timing_(timing), random_(seed) {}

    /// Sets the source addresses of reports. Repeats current reports, which may have been sent without an address.
    void set_source(const ReportSource& source, Time now);

    Packets join(const wire::Gid& group, Time now);
    Packets leave(const wire::Gid& group, Time now);
    /// Processes a received packet, from the IP header on; anything but IGMP and MLD is ignored.
    void received(wire::Bytes ip_packet, Time now);
    Packets tick(Time now);
    std::optional<Time> deadline() const;

    const GroupCounters& counters() const { return counters_; }
    /// Number of groups joined, and of groups left whose leave is still being reported.
    std::size_t size() const { return groups_.size(); }

private:
    struct Group {
        bool in = true;
        unsigned changes = 0;  ///< how often the change is still to be reported
        Time next_change = 0;
        std::optional<Time> answer;  ///< when to answer a query for it
        bool reported_last = false;  ///< the last report on the link was ours, in the older version: then leaving it is
                                     ///< announced
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
    std::array<Time, 2> older_until_{};  ///< end of the older querier's presence: of IPv4, of IPv6
    GroupCounters counters_;
};

}  // namespace verbline::neighbour
