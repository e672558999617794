// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Which multicast groups have listeners on a link, as the link's multicast router finds out: IGMPv2 and v3 for IPv4,
/// MLDv1 and v2 for IPv6, which are one protocol in two encodings (datapath/neighbour/membership_message.h). One object
/// for each link and family.
///
///     reports ──> a group's listeners, until they leave or are silent ──> Joined, Left
///     queries ──> the querier of the link: the router with the lowest address
///     tick    ──> own queries, expired timers
///
/// Source filters are not kept: a listener gets the packets of all sources, and drops those that it did not request
/// (RFC 3376, 6.3 permits it). A host with a source list is a listener while the list is not empty; when it removes
/// sources, the group is queried.
///
/// While a group has a host of an older version, the rules of that version apply to it: IGMPv1 has no leaves (RFC 3376,
/// 7.3). Queries are sent in the newest version, which the older ones accept. Links with routers of an older version
/// only are not supported (RFC 3376, 7.3.1 requires manual configuration for them).
///
/// Pure: no I/O, no clock. Owned by the control thread. Time is the caller's, in nanoseconds.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "datapath/neighbour/membership_message.h"
#include "datapath/wire/types.h"
#include "pmd/base/counter.h"
#include "pmd/base/time.h"

namespace verbline::multicast {

/// RFC 3376, 8; RFC 3810, 9.
struct ListenerParameters {
    unsigned robustness = 2;
    Time query_interval = 125 * second;
    Time query_response = 10 * second;
    Time last_member_interval = second;
    std::size_t most_groups = 1'024;  ///< what hosts can make us keep
    /// Groups that do not leave the link, of which there is one for each address of IPv6, are kept as well: for the
    /// kernel's, which we receive for it.
    bool link_scope = false;

    Time membership() const { return robustness * query_interval + query_response; }
    Time other_querier() const { return robustness * query_interval + query_response / 2; }
    Time last_member() const { return robustness * last_member_interval; }
};

#define VERBLINE_LISTENERS_COUNTERS(X)                                         \
    X(membership_reports, "IGMP and MLD reports and leaves of hosts")          \
    X(membership_queries_sent, "IGMP and MLD queries of ours")                 \
    X(membership_queries_heard, "IGMP and MLD queries of other routers")       \
    X(membership_groups_full, "reports of groups for which there was no room") \
    X(membership_ignored, "IGMP and MLD messages that are malformed or not from this link")

struct ListenersCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_LISTENERS_COUNTERS)
};

struct SendQuery {
    neighbour::MembershipQuery query;
};
struct Joined {
    wire::Gid group;
};
struct Left {
    wire::Gid group;
};
using ListenerAction = std::variant<SendQuery, Joined, Left>;
using ListenerActions = std::vector<ListenerAction>;

class Listeners {
public:
    using Actions = ListenerActions;

    /// `counters` must outlive it; several may share them.
    Listeners(const ListenerParameters& parameters, ListenersCounters& counters)
        : parameters_(parameters), counters_(counters), heard_(parameters) {}
    Listeners(const Listeners&) = delete;
    Listeners& operator=(const Listeners&) = delete;

    /// Our address on the link, from which queries are sent; of IPv4 it may be 0.0.0.0, which every other router's
    /// outranks. None: nothing is asked. A new one begins with the queries of a start.
    Actions set_address(const std::optional<wire::Gid>& own, Time now);
    Actions received(const neighbour::MembershipReport& report, Time now);
    Actions received(const neighbour::MembershipQuery& query, Time now);
    /// The link is down: all listeners have left.
    Actions clear();
    /// Call at or after `deadline`.
    Actions tick(Time now);
    std::optional<Time> deadline() const;

    /// Whether the link's queries are ours.
    bool querier() const { return own_ && !other_until_; }
    std::size_t size() const { return groups_.size(); }

    struct Shown {
        wire::Gid group;
        neighbour::MembershipVersion version;  ///< of its oldest listener
        Time expires_in = 0;
    };
    std::vector<Shown> show(Time now) const;

private:
    struct Group {
        Time expires = 0;
        std::optional<Time> v1_until, v2_until;  ///< a host of this version is present until then
        unsigned questions = 0;                  ///< group-specific queries still to be sent
        Time next_question = 0;
    };

    void listens(const wire::Gid& group, neighbour::MembershipVersion version, Actions& out, Time now);
    void may_have_left(const wire::Gid& group, Actions& out, Time now);
    void heard(const neighbour::MembershipRecord& record, neighbour::MembershipVersion version, Actions& out, Time now);
    void ask(const wire::Gid& group, Actions& out);
    void ask_all(Actions& out, Time now);
    static neighbour::MembershipVersion version(const Group& group, Time now);
    bool kept(const wire::Gid& group) const;

    ListenerParameters parameters_;  ///< ours
    ListenersCounters& counters_;
    ListenerParameters heard_;  ///< the querier's, if it is another (RFC 3376, 4.1.6 and 4.1.7)
    std::optional<wire::Gid> own_;
    std::optional<Time> other_until_;  ///< another router asks, until then
    unsigned start_queries_ = 0;       ///< that are left of those at start
    Time next_query_ = 0;
    std::map<wire::Gid, Group> groups_;
};

}  // namespace verbline::multicast
