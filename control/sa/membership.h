// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Membership of one port in one multicast group, shared by many users.
///
/// The SA knows ports, not users: joining twice counts once, and a single leave takes the port out of the group (IBTA
/// volume 1, 15.2.5.17; OpenSM does so). Therefore users are counted here, per join-state bit, and the SA hears only of
/// the first and the last.
///
/// There are no per-event special cases: whatever happens, `reconcile` compares what the users want with what the SA
/// has granted and asks for one step of the difference. A restarted subnet manager is merely a grant that became empty.
///
///     join, leave  ──>  wanted ┐
///                              ├─ reconcile ──>  Ask (one outstanding)  ──>  SA
///     answer, lost ──>  held   ┘                 Grant, Refuse          ──>  users
///
/// Refusals: OpenSM answers "invalid request" for a join that can never work (wrong Q_Key) and for one that merely
/// comes too early (our port not yet discovered by a manager that just started). So a refusal is believed only when it
/// is repeated. A user who has been in the group before is never refused: what the SA granted once it will grant again,
/// and until then we keep asking, ever more slowly.
///
/// On a port that is shared with others (the kernel's own IPoIB interface) nothing is ever given back: a DELETE would
/// take the port out of the group for them as well, and whether they are in it cannot be known. The port stays a member
/// until it goes down; nobody here listens any more, and the adapter drops what arrives.
///
/// Pure: no I/O, no clock. Owned by the control thread. Time is the caller's, in nanoseconds.

#include <cstdint>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "control/sa/status.h"
#include "datapath/wire/mcmember_record.h"
#include "datapath/wire/types.h"
#include "pmd/base/time.h"

namespace verbline::sa {

enum class UserId : std::uint64_t {};

using JoinStates = wire::JoinState;  ///< any of wire::join_state, ORed

/// What the SA says of the group; every user is given a copy. Rate and lifetime are coded as in the record.
struct Group {
    wire::Lid mlid{};
    wire::QKey qkey{};
    wire::PKey pkey{};
    wire::IbMtu mtu{};
    std::uint8_t rate = 0, lifetime = 0;
    std::uint8_t service_level = 0, hop_limit = 0, traffic_class = 0;
    std::uint32_t flow_label = 0;
    bool operator==(const Group&) const = default;
};

/// Nanoseconds. The wait for an answer doubles from `timeout`, the rest after a refusal from `rest`, up to `limit`.
struct MembershipTiming {
    Time timeout = 500 * millisecond;
    Time rest = 250 * millisecond;
    Time limit = 16 * second;
    unsigned patience = 3;  ///< refusals before a new user is refused
};

enum class PortUse : bool { ours_alone, shared };

class Membership {
public:
    /// Send MCMemberRecord SET (join) or DELETE to the SA. A repeat carries the same id, a new request a new one.
    struct Ask {
        std::uint32_t id;
        bool join;
        JoinStates states;
        bool operator==(const Ask&) const = default;
    };
    /// Tell the user: you are in (again, if the group's record changed).
    struct Grant {
        UserId user;
        Group group;
    };
    /// Tell the user: the SA will not have it. The user is forgotten and may join again.
    struct Refuse {
        UserId user;
        SaStatus why;
    };
    using Action = std::variant<Ask, Grant, Refuse>;
    using Actions = std::vector<Action>;

    explicit Membership(MembershipTiming timing = {}, PortUse use = PortUse::ours_alone) : timing_(timing), use_(use) {}

    /// A user joins with exactly one join-state bit. Joining again replaces the user's earlier bit.
    Actions join(UserId user, JoinStates state, Time now);
    Actions leave(UserId user, Time now);

    /// The SA's answer to the Ask of that id; any but the outstanding one is ignored. `states` is what the record now
    /// holds for this port.
    Actions answered(std::uint32_t id, SaStatus status, JoinStates states, const Group& group, Time now);
    /// The SA has forgotten us, or may have: client reregister, SM change or return, port down and up.
    Actions lost(Time now);
    /// Call at or after `deadline()`.
    Actions tick(Time now);

    std::optional<Time> deadline() const;
    bool idle() const { return users_.empty() && ours_ == 0 && !asked_; }
    JoinStates wanted() const;
    JoinStates held() const { return held_; }
    std::size_t users() const { return users_.size(); }
    /// As the SA last described it; meaningless before the first grant.
    const Group& group() const { return group_; }

private:
    friend class MembershipExplorer;  ///< a test that visits every state

    struct User {
        JoinStates state = 0;
        bool granted = false;      ///< has been told of the group as it is now
        bool established = false;  ///< the SA has granted this user's state before
        unsigned refusals = 0;     ///< so far, none believed
    };

    void reconcile(Actions& out, Time now);
    void adopt(const Group& group);
    void grant(Actions& out);
    void refuse(Actions& out, JoinStates states, SaStatus why);
    void given_back(JoinStates states);
    void take_rest(Time now);
    void end_rest();

    MembershipTiming timing_;
    PortUse use_;
    std::map<UserId, User> users_;
    Group group_;
    JoinStates held_ = 0;       ///< bits the SA has granted us and that we have not asked to give back
    JoinStates ours_ = 0;       ///< bits it may hold on our behalf: asked for and not yet given back
    JoinStates doubtful_ = 0;   ///< of these, bits it may hold even if a request for them is refused
    std::optional<Ask> asked_;  ///< the one outstanding request
    std::uint32_t last_id_ = 0;
    Time wake_ = 0;                   ///< when the outstanding request times out
    Time back_off_ = 0;               ///< the wait that the next timeout doubles
    std::optional<Time> rest_until_;  ///< after a refusal: ask nothing before
    Time rest_ = 0;                   ///< the rest that the next refusal doubles
};

}  // namespace verbline::sa
