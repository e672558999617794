// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// All multicast groups of one port: a Membership for each, driven by the SA client.
///
/// Owned by the control thread; goes away with its client. Users' callbacks come from the loop, never from within
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

/// How to join a group. Every member names the partition; a group that we may have to create needs the rest as well:
/// RFC 4391, section 5 takes it from the partition's broadcast group, which always exists before.
struct JoinParameters {
    wire::PKey pkey{0xffff};
    std::optional<Group> create_like;
};

class Groups {
public:
    /// Called at every grant (again when the group's record changed) and once at a refusal, which ends the membership.
    using Notify = std::function<void(const std::expected<Group, SaStatus>&)>;

    /// On a shared port (Transport::shared) groups are joined, and never left.
    Groups(Client& client, control::Loop& loop, const MembershipTiming& timing = {});
    Groups(const Groups&) = delete;
    Groups& operator=(const Groups&) = delete;

    /// `state`: one bit of wire::join_state. A second join of the same user replaces the first.
    void join(const wire::Gid& mgid, UserId user, JoinStates state, const JoinParameters& parameters, Notify notify);
    void leave(const wire::Gid& mgid, UserId user);

    /// The SA may have forgotten us: join everything again.
    void lost();

    /// A group in which the SA holds us: the next one after `previous`, or the first; nothing if there is none.
    std::optional<wire::Gid> next_held(const std::optional<wire::Gid>& previous) const;

    struct Shown {
        wire::Gid mgid;
        Group group;
        JoinStates wanted, held;
        std::size_t users;
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
    std::shared_ptr<const bool> alive_ = std::make_shared<bool>(true);  ///< outlived only by tasks in the loop
};

/// What the SA's record says of its group.
Group group_of(const wire::McMemberRecord& record);
/// A SET that joins `mgid`, creating the group if the parameters allow, and its component mask.
std::pair<wire::McMemberRecord, wire::ComponentMask> join_request(const wire::Gid& mgid, const wire::Gid& port,
                                                                  JoinStates states, const JoinParameters& parameters);

}  // namespace verbline::sa
