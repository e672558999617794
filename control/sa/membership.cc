// SPDX-License-Identifier: BSD-3-Clause
#include "control/sa/membership.h"

#include <algorithm>

namespace verbline::sa {

JoinStates Membership::wanted() const {
    JoinStates bits = 0;
    for (const auto& [id, user] : users_) bits |= user.state;
    return bits;
}

Membership::Actions Membership::join(UserId user, JoinStates state, Time now) {
    Actions out;
    auto& entry = users_[user];
    entry = User{.state = state, .established = entry.established && entry.state == state};
    rest_until_.reset();  // a user's request: try at once
    grant(out);
    reconcile(out, now);
    return out;
}

Membership::Actions Membership::leave(UserId user, Time now) {
    Actions out;
    users_.erase(user);
    rest_until_.reset();
    reconcile(out, now);
    return out;
}

Membership::Actions Membership::answered(std::uint32_t id, SaStatus status, JoinStates states, const Group& group,
                                         Time now) {
    Actions out;
    if (!asked_ || asked_->id != id) return out;
    const auto asked = *asked_;
    asked_.reset();
    if (status == SaStatus::ok) {
        held_ = (asked.join ? held_ | asked.states : held_ & ~asked.states) & states;
        if (!asked.join) given_back(asked.states);
        if (asked.join && group != group_) adopt(group);
        end_rest();
    } else if (passes(status)) {
        take_rest(now);
    } else if (asked.join) {
        ours_ &= ~asked.states | doubtful_;  // refused; responses to earlier requests may be lost
        refuse(out, asked.states, status);
        take_rest(now);
    } else {
        held_ &= ~asked.states;  // the SA has no membership in these states, as requested
        given_back(asked.states);
    }
    // A grant of less than requested would be requested again at once, endlessly.
    if (status == SaStatus::ok && asked.join && (asked.states & ~held_) != 0) take_rest(now);
    grant(out);
    reconcile(out, now);
    return out;
}

Membership::Actions Membership::lost(Time now) {
    Actions out;
    doubtful_ |= ours_;
    held_ = 0;
    asked_.reset();  // ignore late answers of the old subnet manager
    end_rest();
    reconcile(out, now);
    return out;
}

Membership::Actions Membership::tick(Time now) {
    Actions out;
    if (rest_until_ && now >= *rest_until_) rest_until_.reset();
    if (asked_ && now >= wake_) {
        back_off_ = std::min(back_off_ * 2, timing_.limit);
        wake_ = now + back_off_;
        if (asked_->join) doubtful_ |= asked_->states;
        out.push_back(*asked_);
    }
    reconcile(out, now);
    return out;
}

std::optional<Time> Membership::deadline() const {
    return asked_ ? std::optional(wake_) : rest_until_;
}

void Membership::reconcile(Actions& out, Time now) {
    if (asked_) return;
    if (use_ == PortUse::shared) {
        const JoinStates surplus = ours_ & ~wanted();
        held_ &= ~surplus;
        given_back(surplus);
    }
    const JoinStates missing = wanted() & ~held_;
    const JoinStates surplus = ours_ & ~wanted();
    if (missing == 0 && surplus == 0) return end_rest();
    if (rest_until_) return;
    // Join first: leaving the last full membership before the next is granted could make the SA delete the group.
    asked_ = Ask{++last_id_, missing != 0, missing ? missing : surplus};
    if (asked_->join) {
        ours_ |= asked_->states;
    } else {
        // Whatever the answer: a retransmission may still reach the SA, or the request may be lost.
        held_ &= ~asked_->states;
        doubtful_ |= asked_->states;
    }
    back_off_ = timing_.timeout;
    wake_ = now + back_off_;
    out.push_back(*asked_);
}

void Membership::adopt(const Group& group) {
    group_ = group;
    // A new subnet manager may have chosen another MLID or Q_Key.
    for (auto& [id, user] : users_) user.granted = false;
}

void Membership::grant(Actions& out) {
    for (auto& [id, user] : users_) {
        if ((held_ & user.state) == 0) continue;
        user.established = true;
        if (user.granted) continue;
        user.granted = true;
        out.push_back(Grant{id, group_});
    }
}

void Membership::refuse(Actions& out, JoinStates states, SaStatus why) {
    for (auto it = users_.begin(); it != users_.end();) {
        auto& [id, user] = *it;
        if ((user.state & states) == 0 || user.established || ++user.refusals < timing_.patience) {
            ++it;
            continue;
        }
        out.push_back(Refuse{id, why});
        it = users_.erase(it);
    }
}

void Membership::given_back(JoinStates states) {
    ours_ &= ~states;
    doubtful_ &= ~states;
}

void Membership::take_rest(Time now) {
    rest_ = rest_ == 0 ? timing_.rest : std::min(rest_ * 2, timing_.limit);
    rest_until_ = now + rest_;
}

void Membership::end_rest() {
    rest_until_.reset();
    rest_ = 0;
}

}  // namespace verbline::sa
