// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IPv6 multicast groups on an IPoIB link (RFC 4391, 4 and 5): groups that we receive from are joined as full member,
/// groups that we only send to (solicitations) as send-only member.
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

#define VERBLINE_IPOIB_GROUPS_COUNTERS(X)                                                                   \
    X(ipoib_groups_refused, "IPv6 groups that the subnet administrator does not let us into")               \
    X(ipoib_groups_left, "IPv6 groups left, to which nothing was sent for longer than to others")           \
    X(ipoib_tx_broadcast_instead, "packets for IPv6 groups that do not exist, sent to the broadcast group") \
    X(ipoib_tx_dropped_group, "packets for IPv6 groups not sent: too many waited to be let in, or no link")

struct IpoibGroupsCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_IPOIB_GROUPS_COUNTERS)
};

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
    /// Joins as full member; `group` is an IPv6 address. Call again when the broadcast group has changed, and not
    /// before it is known.
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

    wire::Gid mgid_of(const wire::Gid& group) const;
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
