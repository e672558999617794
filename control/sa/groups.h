// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// All multicast groups of one port: a Membership for each, driven by the SA client.
///
/// Owned by the control thread; lifetime as its client's. Users' callbacks come from the loop, never from within
/// `join`.

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "control/loop/loop.h"
#include "control/sa/client.h"
#include "control/sa/membership.h"

namespace verbline::sa {

/// Parameters of a join. Every member names the partition; to create a group the rest is needed as well: RFC 4391,
/// section 5 takes it from the partition's broadcast group, which always exists before.
struct JoinParameters {
    wire::PKey pkey{0xffff};
    std::optional<Group> create_like;
};

class Groups {
public:
    /// Called when the SA grants the join, again when the group's record changes, and once on refusal, which ends the
    /// membership.
    using Notify = std::function<void(const std::expected<Group, SaStatus>&)>;

    /// On a shared port (Transport::shared) groups are joined, and never left.
    Groups(Client& client, control::Loop& loop, const MembershipTiming& timing = {});
    Groups(const Groups&) = delete;
    Groups& operator=(const Groups&) = delete;

    /// `state`: one bit of wire::join_state. A second join by the same user replaces the first.
    void join(const wire::Gid& mgid, UserId user, JoinStates state, const JoinParameters& parameters, Notify notify);
    void leave(const wire::Gid& mgid, UserId user);

    /// The SA may have lost our memberships: joins all groups again.
    void lost();

    /// The next group after `previous`, or the first, in which the SA has confirmed our membership; none if there is
    /// none.
    std::optional<wire::Gid> next_held(const std::optional<wire::Gid>& previous) const;

    struct Shown {
        wire::Gid mgid;
        Group group;
        JoinStates wanted, held;
        std::size_t users;
        wire::PKey pkey;  ///< that it was joined with
    };
    std::vector<Shown> show() const;

private:
    struct Entry {
        Membership membership;
        JoinParameters parameters;
        std::map<UserId, Notify> users;
    };

    void perform(const wire::Gid& mgid, const Membership::Actions& actions);
    void ask(const wire::Gid& mgid, const Entry& entry, const Membership::Ask& ask);
    void tick();
    void arm();

    Client& client_;
    control::Loop& loop_;
    const MembershipTiming timing_;
    const PortUse use_;
    std::map<wire::Gid, Entry> groups_;
    control::Timer timer_;
    std::shared_ptr<const bool> alive_ = std::make_shared<bool>(true);  ///< outlived only by posted tasks
};

/// Group attributes of an MCMemberRecord.
Group group_of(const wire::McMemberRecord& record);
/// MCMemberRecord and component mask of a SET that joins `mgid`, or creates the group if the parameters allow.
std::pair<wire::McMemberRecord, wire::ComponentMask> join_request(const wire::Gid& mgid, const wire::Gid& port,
                                                                  JoinStates states, const JoinParameters& parameters);

}  // namespace verbline::sa
