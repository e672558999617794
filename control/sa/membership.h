// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Membership of one port in one multicast group, shared by several users.
///
/// The SA knows ports, not users: joining twice counts once, and a single leave takes the port out of the group (IBTA
/// volume 1, 15.2.5.17; OpenSM does so). Therefore users are counted here, per join-state bit, and the SA is sent only
/// the first and the last.
///
/// No event has a special case: `reconcile` compares what the users want with what the SA has granted and requests one
/// step of the difference. A restart of the subnet manager simply clears what is granted.
///
///     join, leave  ──>  wanted ┐
///                              ├─ reconcile ──>  Ask (one outstanding)  ──>  SA
///     answer, lost ──>  held   ┘                 Grant, Refuse          ──>  users
///
/// Refusals: OpenSM answers "invalid request" for a join that can never work (wrong Q_Key) and for one that is merely
/// too early (our port not yet discovered by a manager that just started). So a refusal counts only when repeated. A
/// user who was a member before is never refused: the SA is expected to grant it again, and until then we keep asking
/// at growing intervals.
///
/// On a port that is shared with others (the kernel's own IPoIB interface) no membership is deleted: a DELETE would
/// remove the port from the group for them as well, and whether they are members cannot be known. The port stays a
/// member until it goes down; without a local receiver the adapter drops what arrives.
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

/// Group attributes from the SA; every user gets a copy. Rate and lifetime are coded as in the record.
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

/// In nanoseconds. The timeout of a request doubles from `timeout`, the pause after a refusal from `rest`, both up to
/// `limit`.
struct MembershipTiming {
    Time timeout = 500 * millisecond;
    Time rest = 250 * millisecond;
    Time limit = 16 * second;
    unsigned patience = 3;  ///< consecutive refusals after which a new user is refused
};

enum class PortUse : bool { ours_alone, shared };

class Membership {
public:
    /// Send MCMemberRecord SET (join) or DELETE to the SA. A retransmission has the same id, a new request a new one.
    struct Ask {
        std::uint32_t id;
        bool join;
        JoinStates states;
        bool operator==(const Ask&) const = default;
    };
    /// Notify the user of the grant (again if the group's record changed).
    struct Grant {
        UserId user;
        Group group;
    };
    /// Notify the user that the SA refused. The user is removed and may join again.
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

    /// The SA's answer to the Ask with this id; ignored unless that is outstanding. `states`: join states that the
    /// record now holds for this port.
    Actions answered(std::uint32_t id, SaStatus status, JoinStates states, const Group& group, Time now);
    /// The SA has, or may have, lost our membership: client reregister, SM change or return, port down and up.
    Actions lost(Time now);
    /// Call at or after `deadline()`.
    Actions tick(Time now);

    std::optional<Time> deadline() const;
    bool idle() const { return users_.empty() && ours_ == 0 && !asked_; }
    JoinStates wanted() const;
    JoinStates held() const { return held_; }
    std::size_t users() const { return users_.size(); }
    /// As of the SA's last answer; invalid before the first grant.
    const Group& group() const { return group_; }

private:
    friend class MembershipExplorer;  ///< a test that visits every state

    struct User {
        JoinStates state = 0;
        bool granted = false;      ///< was notified of `group_` as it is now
        bool established = false;  ///< the SA has granted this user's state before
        unsigned refusals = 0;     ///< consecutive refusals, fewer than `patience`
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
    JoinStates held_ = 0;       ///< bits granted by the SA for which no DELETE was sent
    JoinStates ours_ = 0;       ///< bits the SA may hold for us: requested and not yet deleted
    JoinStates doubtful_ = 0;   ///< of these, bits it may hold even if a request is refused
    std::optional<Ask> asked_;  ///< the one outstanding request
    std::uint32_t last_id_ = 0;
    Time wake_ = 0;                   ///< when the outstanding request times out
    Time back_off_ = 0;               ///< current timeout; doubled by the next one
    std::optional<Time> rest_until_;  ///< after a refusal: send no request before
    Time rest_ = 0;                   ///< current pause; doubled by the next refusal
};

}  // namespace verbline::sa
