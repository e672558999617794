// SPDX-License-Identifier: BSD-3-Clause
#include "control/sa/membership.h"

#include <map>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "tests/control/sa/users.h"

namespace verbline::sa {
namespace {

using wire::join_state::full_member;
using wire::join_state::non_member;
using wire::join_state::send_only_non_member;

constexpr Group broadcast_record{.mlid = wire::Lid{0xc000}, .qkey = wire::QKey{0x0b1b}, .mtu = wire::IbMtu::bytes_2048};
constexpr SaStatus invalid = SaStatus::invalid_request;

template <class T>
const T* only(const Membership::Actions& actions) {
    return actions.size() == 1 ? std::get_if<T>(&actions.front()) : nullptr;
}

/// The SA knows ports: its record also shows the states in which another program joined on ours. They are not ours to
/// leave.
TEST(Membership, LeavesNothingThatAnotherProgramJoined) {
    Membership m;
    m.join(alice, send_only_non_member, 0);
    EXPECT_TRUE(m.answered(1, SaStatus::ok, send_only_non_member | full_member, broadcast_record, 0).size() == 1)
        << "a grant, and no request to leave the state that we did not ask for";
    EXPECT_EQ(m.held(), send_only_non_member);
    const auto actions = m.leave(alice, 0);
    const auto* ask = only<Membership::Ask>(actions);
    ASSERT_TRUE(ask);
    EXPECT_EQ(ask->states, send_only_non_member);
    EXPECT_TRUE(m.answered(ask->id, SaStatus::ok, full_member, broadcast_record, 0).empty());
    EXPECT_TRUE(m.idle());
}

TEST(Membership, SharedPortSendsNoLeave) {
    Membership m({}, PortUse::shared);
    m.join(alice, full_member, 0);
    m.join(bob, send_only_non_member, 0);
    m.answered(1, SaStatus::ok, full_member, broadcast_record, 0);
    m.answered(2, SaStatus::ok, full_member | send_only_non_member, broadcast_record, 0);
    EXPECT_TRUE(m.leave(bob, 0).empty());
    EXPECT_EQ(m.held(), full_member) << "who wants it again asks again: it may have been lost meanwhile";
    EXPECT_TRUE(m.leave(alice, 0).empty());
    EXPECT_TRUE(m.idle());
    EXPECT_TRUE(only<Membership::Ask>(m.join(alice, full_member, 0)));
    EXPECT_TRUE(m.leave(alice, 0).empty()) << "with the request still out";
    EXPECT_TRUE(m.answered(3, SaStatus::ok, full_member, broadcast_record, 0).empty());
    EXPECT_TRUE(m.idle());
}

TEST(Membership, OneUsersLeaveKeepsTheOtherIn) {
    Membership m;
    ASSERT_TRUE(only<Membership::Ask>(m.join(alice, full_member, 0)));
    EXPECT_TRUE(m.join(bob, full_member, 0).empty()) << "one request is out already";
    EXPECT_EQ(m.answered(1, SaStatus::ok, full_member, broadcast_record, 0).size(), 2u) << "both are granted";
    EXPECT_TRUE(m.leave(alice, 0).empty()) << "the SA must hear nothing while bob stays";
    const auto actions = m.leave(bob, 0);
    const auto* ask = only<Membership::Ask>(actions);
    ASSERT_TRUE(ask);
    EXPECT_EQ(*ask, (Membership::Ask{2, false, full_member}));
}

TEST(Membership, LeavesOnlyTheStateThatNobodyNeeds) {
    Membership m;
    m.join(alice, send_only_non_member, 0);
    m.join(bob, full_member, 0);
    m.answered(1, SaStatus::ok, send_only_non_member, broadcast_record, 0);
    m.answered(2, SaStatus::ok, send_only_non_member | full_member, broadcast_record, 0);
    const auto actions = m.leave(bob, 0);
    const auto* ask = only<Membership::Ask>(actions);
    ASSERT_TRUE(ask);
    EXPECT_EQ(*ask, (Membership::Ask{3, false, full_member}));
}

TEST(Membership, LeaveRejectedAsInvalidCompletes) {
    Membership m;
    m.join(alice, full_member, 0);
    m.answered(1, SaStatus::ok, full_member, broadcast_record, 0);
    m.leave(alice, 0);
    EXPECT_TRUE(m.answered(2, invalid, 0, {}, 0).empty());
    EXPECT_TRUE(m.idle());
}

/// The SA was too busy to take us out; a repeat of that request may still be under way.
TEST(Membership, JoinsAgainAfterAPendingLeave) {
    Membership m;
    m.join(alice, full_member, 0);
    m.answered(1, SaStatus::ok, full_member, broadcast_record, 0);
    m.leave(alice, 0);
    EXPECT_TRUE(m.join(alice, full_member, 0).empty()) << "no grant, and the leave is out";
    m.answered(2, SaStatus::busy, full_member, broadcast_record, 0);
    const auto actions = m.tick(*m.deadline());
    const auto* ask = only<Membership::Ask>(actions);
    ASSERT_TRUE(ask);
    EXPECT_EQ(*ask, (Membership::Ask{3, true, full_member}));
}

TEST(Membership, AMembershipThatWasNotLeftForSureIsLeftEvenIfALaterJoinIsRefused) {
    Membership m;
    m.join(alice, full_member, 0);
    m.answered(1, SaStatus::ok, full_member, broadcast_record, 0);
    m.leave(alice, 0);
    m.answered(2, SaStatus::busy, full_member, broadcast_record, 0);
    m.join(alice, full_member, 0);
    m.answered(3, invalid, full_member, broadcast_record, 0);
    m.leave(alice, 0);
    EXPECT_FALSE(m.idle()) << "the SA may have us still";
}

TEST(Membership, AnUnansweredRequestIsRepeatedUnderItsIdEverMoreSlowly) {
    Membership m({.timeout = 100, .rest = 100, .limit = 400});
    m.join(alice, full_member, 0);
    std::vector<Time> times;
    for (int i = 0; i < 5; ++i) {
        times.push_back(*m.deadline());
        const auto actions = m.tick(*m.deadline());
        ASSERT_TRUE(only<Membership::Ask>(actions));
        EXPECT_EQ(only<Membership::Ask>(actions)->id, 1u);
    }
    EXPECT_EQ(times, (std::vector<Time>{100, 300, 700, 1100, 1500}));
    EXPECT_TRUE(m.tick(1501).empty()) << "not before it is due";
}

TEST(Membership, ARefusalIsBelievedWhenRepeated) {
    Membership m({.timeout = 100, .rest = 50, .limit = 1000, .patience = 3});
    m.join(alice, full_member, 0);
    EXPECT_TRUE(m.answered(1, invalid, 0, {}, 0).empty());
    EXPECT_EQ(m.deadline(), 50);
    ASSERT_TRUE(only<Membership::Ask>(m.tick(50)));
    EXPECT_TRUE(m.answered(2, invalid, 0, {}, 50).empty());
    EXPECT_EQ(m.deadline(), 150) << "the rest doubles";
    ASSERT_TRUE(only<Membership::Ask>(m.tick(150)));
    const auto actions = m.answered(3, invalid, 0, {}, 150);
    ASSERT_TRUE(only<Membership::Refuse>(actions));
    EXPECT_EQ(only<Membership::Refuse>(actions)->why, invalid);
    EXPECT_TRUE(m.idle());
    EXPECT_FALSE(m.deadline());
    EXPECT_TRUE(only<Membership::Ask>(m.join(alice, full_member, 150))) << "the caller may ask again, at once";
}

TEST(Membership, FailedRejoinDoesNotFailExistingUsers) {
    Membership m({.timeout = 100, .rest = 50, .limit = 200, .patience = 1});
    m.join(alice, full_member, 0);
    m.answered(1, SaStatus::ok, full_member, broadcast_record, 0);
    Time now = 0;
    m.lost(now);
    for (std::uint32_t id = 2; id < 20; ++id) {  // a restarted manager that does not know the port yet
        EXPECT_TRUE(m.answered(id, invalid, 0, {}, now).empty());
        now = *m.deadline();
        ASSERT_TRUE(only<Membership::Ask>(m.tick(now)));
    }
    EXPECT_TRUE(m.answered(20, SaStatus::ok, full_member, broadcast_record, now).empty())
        << "the same group: nothing to tell";
    EXPECT_EQ(m.held(), full_member);
}

TEST(Membership, ARefusalReachesOnlyThoseWhoAskedForThatState) {
    Membership m({.patience = 1});
    m.join(alice, send_only_non_member, 0);
    m.answered(1, SaStatus::ok, send_only_non_member, broadcast_record, 0);
    m.join(bob, full_member, 0);
    const auto actions = m.answered(2, invalid, 0, {}, 0);
    const auto* refuse = only<Membership::Refuse>(actions);
    ASSERT_TRUE(refuse);
    EXPECT_EQ(refuse->user, bob);
    EXPECT_EQ(m.wanted(), send_only_non_member);
}

TEST(Membership, RejectionFailsOnlyEarlierRequests) {
    Membership m({.patience = 1});
    m.join(alice, send_only_non_member, 0);
    m.join(bob, full_member, 0);
    const auto actions = m.answered(1, invalid, 0, {}, 0);
    ASSERT_TRUE(only<Membership::Refuse>(actions));
    EXPECT_EQ(only<Membership::Refuse>(actions)->user, alice);
    EXPECT_EQ(m.wanted(), full_member);
}

TEST(Membership, ANewUserNeedNotWaitUntilARefusalIsSleptOff) {
    Membership m;
    m.join(alice, send_only_non_member, 0);
    m.answered(1, invalid, 0, {}, 0);
    const auto actions = m.join(bob, full_member, 1);
    ASSERT_TRUE(only<Membership::Ask>(actions));
    EXPECT_EQ(*only<Membership::Ask>(actions), (Membership::Ask{2, true, full_member | send_only_non_member}));
}

TEST(Membership, JoinsBeforeItLeaves) {
    Membership m;
    m.join(alice, send_only_non_member, 0);
    m.answered(1, SaStatus::ok, send_only_non_member, broadcast_record, 0);
    auto actions = m.join(alice, full_member, 0);
    ASSERT_TRUE(only<Membership::Ask>(actions));
    EXPECT_EQ(*only<Membership::Ask>(actions), (Membership::Ask{2, true, full_member}));
    actions = m.answered(2, SaStatus::ok, full_member | send_only_non_member, broadcast_record, 0);
    ASSERT_EQ(actions.size(), 2u);
    EXPECT_EQ(std::get<Membership::Ask>(actions[1]), (Membership::Ask{3, false, send_only_non_member}));
}

TEST(Membership, BusyIsNoRefusal) {
    Membership m({.patience = 1});
    m.join(alice, full_member, 0);
    Time now = 0;
    for (std::uint32_t id = 1; id < 5; ++id) {
        EXPECT_TRUE(m.answered(id, SaStatus::busy, 0, {}, now).empty());
        now = *m.deadline();
        ASSERT_TRUE(only<Membership::Ask>(m.tick(now)));
    }
    m.leave(alice, now);
    m.answered(5, SaStatus::ok, full_member, broadcast_record, now);
    EXPECT_TRUE(m.answered(6, SaStatus::busy, 0, {}, now).empty());
    EXPECT_FALSE(m.idle()) << "still in, and will ask to leave again";
    EXPECT_TRUE(m.deadline());
}

TEST(Membership, AGrantOfLessIsNotAskedForInAFlood) {
    Membership m;
    m.join(alice, full_member, 0);
    EXPECT_TRUE(m.answered(1, SaStatus::ok, 0, broadcast_record, 0).empty());
    EXPECT_GT(*m.deadline(), 0);
}

TEST(Membership, ChangedGroupRecordIsGrantedToEveryUser) {
    Membership m;
    m.join(alice, full_member, 0);
    m.answered(1, SaStatus::ok, full_member, broadcast_record, 0);
    m.lost(0);
    auto moved = broadcast_record;
    moved.mlid = wire::Lid{0xc005};
    const auto actions = m.answered(2, SaStatus::ok, full_member, moved, 0);
    ASSERT_TRUE(only<Membership::Grant>(actions));
    EXPECT_EQ(only<Membership::Grant>(actions)->group, moved);
}

/// A subnet administrator as OpenSM behaves: states are ORed, one DELETE removes a state whoever joined, a restart
/// forgets all, and for a while after it knows no ports and refuses them.
struct FakeSa {
    struct Answer {
        std::uint32_t id;
        SaStatus status;
        JoinStates states;
        Group group;
    };

    JoinStates member = 0;
    Group group = broadcast_record;
    int confused = 0;  ///< requests it will refuse for ignorance
    int busy = 0;

    Answer serve(const Membership::Ask& ask) {
        if (busy > 0) return --busy, Answer{ask.id, SaStatus::busy, 0, {}};
        if (confused > 0 && ask.join) return --confused, Answer{ask.id, invalid, 0, {}};
        const bool known = ask.join || (member & ask.states) != 0;
        member = ask.join ? member | ask.states : member & ~ask.states;
        return {ask.id, known ? SaStatus::ok : invalid, member, group};
    }
    void restart(unsigned luck) {
        member = 0;
        if (luck % 2 == 0)
            group.mlid = wire::Lid{static_cast<std::uint16_t>(static_cast<std::uint16_t>(group.mlid) + 1)};
        confused = static_cast<int>(luck % 3);
        busy = static_cast<int>(luck % 4);
    }
};

/// Four users, one SA, and a path between that loses, delays and repeats. `told` is what each present user last heard.
struct World {
    explicit World(unsigned seed) : random(seed) {}

    std::mt19937 random;
    Membership membership;
    FakeSa sa;
    Time now = 0;
    unsigned trouble = 25;  ///< per cent
    std::map<UserId, JoinStates> users;
    std::map<UserId, Group> told;
    std::vector<FakeSa::Answer> late;

    bool chance(unsigned percent) { return random() % 100 < percent; }

    void play(const Membership::Actions& actions) {
        for (const auto& action : actions) {
            if (const auto* refuse = std::get_if<Membership::Refuse>(&action)) {
                ASSERT_TRUE(users.contains(refuse->user));
                users.erase(refuse->user);
            }
            if (const auto* grant = std::get_if<Membership::Grant>(&action)) {
                ASSERT_TRUE(users.contains(grant->user)) << "no news for those who left";
                told[grant->user] = grant->group;
            }
            if (const auto* ask = std::get_if<Membership::Ask>(&action)) {
                ASSERT_NE(ask->states, 0);
                if (!chance(trouble)) deliver(sa.serve(*ask));
            }
        }
    }
    void deliver(const FakeSa::Answer& answer) {
        if (chance(trouble)) late.push_back(answer);
        if (chance(trouble)) return;
        play(membership.answered(answer.id, answer.status, answer.states, answer.group, now));
    }
    void deliver_late() {
        for (const auto& a : std::exchange(late, {})) {
            play(membership.answered(a.id, a.status, a.states, a.group, now));
        }
    }
    void step() {
        constexpr JoinStates states[] = {full_member, non_member, send_only_non_member};
        const UserId user{random() % 4};
        now += static_cast<Time>(random() % 500'000'000);
        switch (random() % 8) {
            case 0:
            case 1:
            case 2:
                users[user] = states[random() % 3];
                told.erase(user);
                return play(membership.join(user, users[user], now));
            case 3:
            case 4:
                users.erase(user);
                told.erase(user);
                return play(membership.leave(user, now));
            case 5: sa.restart(static_cast<unsigned>(random())); return play(membership.lost(now));
            case 6: return deliver_late();
            default: return play(membership.tick(now));
        }
    }
    void settle() {
        trouble = 0;
        deliver_late();
        for (int i = 0; i < 40 && membership.deadline(); ++i) play(membership.tick(now = *membership.deadline()));
    }
};

class MembershipSim : public testing::TestWithParam<unsigned> {};

TEST_P(MembershipSim, SettlesOnWhatTheUsersWant) {
    World world(GetParam());
    for (int i = 0; i < 300 && !testing::Test::HasFatalFailure(); ++i) world.step();
    world.settle();

    JoinStates wanted = 0;
    for (auto [user, state] : world.users) wanted |= state;
    EXPECT_FALSE(world.membership.deadline()) << "nothing outstanding";
    EXPECT_EQ(world.membership.users(), world.users.size());
    EXPECT_EQ(world.sa.member, wanted) << "the SA holds exactly what the users want";
    for (auto [user, state] : world.users) {
        EXPECT_EQ(world.told[user], world.sa.group) << "every user knows the group as it is now";
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, MembershipSim, testing::Range(0u, 4000u));

}  // namespace
}  // namespace verbline::sa
