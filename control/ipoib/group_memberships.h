// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The multicast groups of an IPoIB port that IP packets come from and go to, other than the control thread's own
/// (groups.h), and what the subnet administrator (SA) says of the subnet's groups:
///
///     hear      to receive for a kernel or another link: full member; a new group is created with the parameters of
///               the broadcast group (RFC 4391, 5)
///     send      to send packets of another link: send-only member of an existing group
///     resolve   to send packets of the kernel: as `send`, but a missing group is created, so that a router learns of
///               it by trap; at most `max_resolved` such groups, of which the oldest is left
///
/// If the SA refuses send-only membership, the port joins as full member.
///
/// Programs join groups at the SA without a report on the link. Traps 66 and 67 of the SA report groups that other
/// hosts create and delete; `look_for` queries the SA for those created before. While the port is a full member of a
/// group, the SA does not show whether there are others.
///
/// Groups are by IP address, those of IPv4 mapped. Owned by the control thread; the agent outlives it.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "control/loop/loop.h"
#include "control/sa/agent.h"
#include "datapath/wire/address_handle.h"
#include "datapath/wire/notice.h"
#include "datapath/wire/types.h"
#include "pmd/base/counter.h"
#include "pmd/base/time.h"

namespace verbline::ipoib {

#define VERBLINE_GROUP_MEMBERSHIPS_COUNTERS(X)                                                          \
    X(multicast_joins, "multicast groups that the subnet administrator let the port into")              \
    X(multicast_refused, "multicast groups that it refused")                                            \
    X(multicast_lookups, "questions to it whether a multicast group exists")                            \
    X(multicast_groups_left, "groups left that the kernel sent to, because it sent to too many others") \
    X(multicast_groups_made, "multicast groups that others made, as it reported")

struct GroupMembershipsCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_GROUP_MEMBERSHIPS_COUNTERS)
};

class GroupMemberships {
public:
    static constexpr std::size_t max_resolved = 64;
    static constexpr std::size_t max_foreign = 4'096;  ///< groups of others that are remembered
    static constexpr Time look_again = 5 * second;  ///< before the SA is queried again for a group that does not exist

    struct Setup {
        wire::PKey pkey{0xffff};
        /// The port receives the group at this MLID (called again if that changes); the port no longer receives it.
        std::function<void(const wire::Gid& mgid, wire::Lid mlid)> attach;
        std::function<void(const wire::Gid& mgid)> detach;
        /// The destination of packets to the group; the group has none.
        std::function<void(const wire::Gid& group, const wire::AddressHandle& to)> located;
        std::function<void(const wire::Gid& group)> unreachable;
        /// The result of `exists` may have changed, for any group.
        std::function<void()> changed;
    };

    GroupMemberships(sa::Agent& agent, control::Loop& loop, Setup setup);
    ~GroupMemberships();
    GroupMemberships(const GroupMemberships&) = delete;
    GroupMemberships& operator=(const GroupMemberships&) = delete;

    /// The partition's broadcast group, without which nothing is joined. Call again when it has changed.
    void set_broadcast(const sa::Group& group);
    /// `located` is called again for all groups: what packets carry of the port has changed.
    void locate_again();

    void hear(const wire::Gid& group, bool wanted);
    void send(const wire::Gid& group, bool wanted);
    void resolve(const wire::Gid& group);

    /// Which of the groups that are heard or sent to has this MGID; none: another's.
    std::optional<wire::Gid> group_of(const wire::Gid& mgid) const;

    /// Whether others have made the group, as far as known.
    bool exists(const wire::Gid& group) const;
    /// Those groups but the broadcast group, as far as known: of their IPv6 addresses an MGID tells the low 80 bits,
    /// and link-local scope is taken for the rest.
    std::vector<wire::Gid> others() const;
    /// Queries the SA, unless it was queried within `look_again`.
    void look_for(const wire::Gid& group);
    void counters(const CounterVisitor& visit) const { counters_.each(visit); }

private:
    struct Entry {
        sa::UserId user{};
        bool hears = false, sends = false, resolves = false;
        bool full = false;               ///< the SA has refused send-only membership
        sa::JoinStates joined = 0;       ///< as last requested
        std::optional<sa::Group> group;  ///< as granted
    };
    using Answer = std::expected<sa::Group, sa::SaStatus>;

    wire::Gid mgid_of(const wire::Gid& group) const;
    static sa::JoinStates wanted(const Entry& entry);
    void update(const wire::Gid& group);
    void answered(const wire::Gid& group, sa::UserId user, const Answer& answer);
    void refused(const wire::Gid& group, Entry& entry);
    void report(const wire::Notice& notice);
    void set_exists(const wire::Gid& mgid, bool exists);
    bool makes(const wire::Gid& mgid) const;
    void make_room();

    sa::Agent& agent_;
    control::Loop& loop_;
    const Setup setup_;
    std::optional<sa::Group> broadcast_;
    std::map<wire::Gid, Entry> entries_;
    std::uint64_t last_user_;
    std::set<wire::Gid> foreign_;      ///< MGIDs that others have made
    std::map<wire::Gid, Time> asked_;  ///< MGIDs that did not exist, and when
    GroupMembershipsCounters counters_;
    std::shared_ptr<const bool> alive_ = std::make_shared<bool>(true);  ///< outlived by answers of the SA
};

}  // namespace verbline::ipoib
