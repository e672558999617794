// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Multicast groups that control packets on an IPoIB link are for (RFC 4391, 4 and 5), of both families: groups that we
/// receive from are joined as full member, groups that we only send to (solicitations, queries) as send-only member.
/// Those that a router's packets are for are in group_memberships.h.
///
///     listen ──> full member, the group made like the broadcast group ──> on_joined
///     send ────> send-only member ──┬── granted ──> the group
///                                   └── refused: it does not exist, so it has no receivers ──> broadcast group
///
/// Owned by the control thread; the agent outlives it.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "control/sa/agent.h"
#include "datapath/wire/address_handle.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"
#include "pmd/base/counter.h"

namespace verbline::ipoib {

#define VERBLINE_IPOIB_GROUPS_COUNTERS(X)                                                              \
    X(ipoib_groups_refused, "groups that the subnet administrator does not let us into")               \
    X(ipoib_groups_left, "groups left, to which nothing was sent for longer than to others")           \
    X(ipoib_tx_broadcast_instead, "packets for groups that do not exist, sent to the broadcast group") \
    X(ipoib_tx_dropped_group, "packets for groups not sent: too many waited to be let in, or no link")

struct IpoibGroupsCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_IPOIB_GROUPS_COUNTERS)
};

/// The MGID of a group, an IPv6 address or a mapped IPv4 one (RFC 4391, 4).
wire::Gid mgid_of(const wire::Gid& group, wire::PKey pkey);
/// The group of an MGID, likewise; none, if it is not one of IPoIB. An MGID lacks the first bits of an IPv6 group: the
/// result is of link-local scope (ff02::), as all groups of control packets are.
std::optional<wire::Gid> group_of(const wire::Gid& mgid);

class IpoibGroups {
public:
    static constexpr std::size_t max_send_only = 64;  ///< groups
    static constexpr std::size_t max_waiting = 8;     ///< packets for one group

    struct Setup {
        wire::PKey pkey{0xffff};
        /// Called when we became a full member, or the group's record changed: attach the queue pair to it.
        std::function<void(const wire::Gid& mgid, const sa::Group& group)> on_joined;
        std::function<void(const wire::AddressHandle& to, wire::Bytes packet)> send;
    };

    IpoibGroups(sa::Agent& agent, Setup setup);
    ~IpoibGroups();
    IpoibGroups(const IpoibGroups&) = delete;
    IpoibGroups& operator=(const IpoibGroups&) = delete;

    /// Sets the broadcast group.
    void set_broadcast(const wire::Gid& mgid, const sa::Group& group) { broadcast_ = {mgid, group}; }
    /// Joins as full member; `group` is an IPv6 address, or a mapped IPv4 one. Call again when the broadcast group has
    /// changed, and not before it is known.
    void listen(const wire::Gid& group);
    void send(const wire::Gid& group, std::vector<std::byte> packet);
    /// Leaves the group if it is send-only; groups that we listen to stay joined.
    void leave(const wire::Gid& group);

    void counters(const CounterVisitor& visit) const { counters_.each(visit); }

private:
    struct Entry {
        bool listens = false;
        std::optional<sa::Group> group;  ///< none: not joined yet
        std::uint64_t used = 0;          ///< value of `uses_` at the last send
        std::vector<std::vector<std::byte>> waiting;
    };
    struct Broadcast {
        wire::Gid mgid;
        sa::Group group;
    };
    using Answer = std::expected<sa::Group, sa::SaStatus>;

    wire::Gid mgid_of(const wire::Gid& group) const { return ipoib::mgid_of(group, setup_.pkey); }
    void join(const wire::Gid& mgid, wire::JoinState state);
    void granted(const wire::Gid& mgid, const Answer& answer);
    void make_room();

    sa::Agent& agent_;
    const Setup setup_;
    std::optional<Broadcast> broadcast_;
    std::map<wire::Gid, Entry> entries_;  ///< by MGID
    std::uint64_t uses_ = 0;
    IpoibGroupsCounters counters_;
};

}  // namespace verbline::ipoib
