// SPDX-License-Identifier: BSD-3-Clause
// Local addresses as a router has them: not used before the link has been asked whether another host has them (RFC
// 4862, 5.4).
#include "datapath/neighbour/local_addresses.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/neighbour/resolver.h"
#include "tests/datapath/neighbour/link.h"

namespace verbline::neighbour {
namespace {

const auto ours = gid("fd76:1::1"), theirs = gid("fd76:1::2"), local = gid("fe80::1"), mapped = gid("10.1.0.1");
constexpr Parameters of_a_router{
    .router = true, .detect_duplicates = Detect::ipv6, .probe_wait = second, .use_tentative = false};

struct LocalAddressesTest : testing::Test {
    Actions hear(const Message& message, Time now = 0) {
        return engine.received(
            {Kind::resolution, family_of(message.solicits ? message.subject : *message.source), message}, now);
    }
    /// The messages to send until `now`.
    std::vector<Message> due(Time now) {
        std::vector<Message> out;
        while (engine.deadline() && *engine.deadline() <= now) {
            for (const auto& action : engine.tick(*engine.deadline())) {
                if (const auto* send = std::get_if<Send>(&action)) out.push_back(send->message);
            }
        }
        return out;
    }
    template <class Wanted>
    static std::optional<Wanted> first(const Actions& actions) {
        for (const auto& action : actions) {
            if (const auto* wanted = std::get_if<Wanted>(&action)) return *wanted;
        }
        return std::nullopt;
    }
    static bool sends(const Actions& actions) {
        return std::ranges::any_of(actions, [](const Action& action) { return std::holds_alternative<Send>(action); });
    }

    explicit LocalAddressesTest(const Parameters& parameters = of_a_router) : engine(us, parameters) {}

    Resolver engine;
};

TEST_F(LocalAddressesTest, AreProbedForBeforeTheyAreUsed) {
    engine.set_addresses({{ours, 64}}, 0);
    EXPECT_EQ(due(0), std::vector{request(us, std::nullopt, ours)});
    EXPECT_FALSE(sends(hear(request(them, theirs, ours)))) << "not assigned yet";
    EXPECT_FALSE(engine.addresses().source_for(theirs));
    EXPECT_TRUE(due(second - 1).empty());
    const auto announcements = due(second);
    ASSERT_EQ(announcements.size(), 1u);
    EXPECT_EQ(announcements[0].source, ours);
    EXPECT_TRUE(sends(hear(request(them, theirs, ours), second)));
    EXPECT_EQ(engine.addresses().source_for(theirs), ours);
}

TEST_F(LocalAddressesTest, AreLostToAHostThatHasThem) {
    engine.set_addresses({{ours, 64}, {local, 64}}, 0);
    due(0);
    const auto conflict = first<Conflict>(hear(announcement(them, ours)));
    ASSERT_TRUE(conflict);
    EXPECT_EQ(conflict->address, ours);
    EXPECT_EQ(conflict->at, LinkAddress(them));
    EXPECT_TRUE(conflict->lost);
    EXPECT_FALSE(first<Conflict>(hear(announcement(them, ours)))) << "reported once";
    for (const auto& message : due(10 * second)) EXPECT_EQ(message.source, local) << "the other is good";
    EXPECT_FALSE(sends(hear(request(them, theirs, ours), 10 * second)));
    EXPECT_NE(engine.addresses().source_for(theirs), ours);
}

TEST_F(LocalAddressesTest, AreLostToAHostThatProbesAtTheSameTime) {
    engine.set_addresses({{ours, 64}}, 0);
    due(0);
    const auto conflict = first<Conflict>(hear(request(them, std::nullopt, ours)));
    ASSERT_TRUE(conflict && conflict->lost);
    EXPECT_TRUE(due(10 * second).empty());
}

TEST_F(LocalAddressesTest, AreDefendedOnceTheyAreOurs) {
    engine.set_addresses({{ours, 64}}, 0);
    due(10 * second);
    const auto heard = hear(announcement(them, ours), 10 * second);
    ASSERT_TRUE(first<Conflict>(heard));
    EXPECT_FALSE(first<Conflict>(heard)->lost);
    EXPECT_TRUE(sends(heard)) << "said again whose it is";
    EXPECT_FALSE(first<Conflict>(hear(announcement(them, ours), 11 * second))) << "reported once";
    EXPECT_TRUE(sends(hear(request(them, std::nullopt, ours), 11 * second))) << "a probe is answered";
}

TEST_F(LocalAddressesTest, ThatAreCertainAreUsedAtOnce) {
    engine.set_addresses({{ours, 64}, {mapped, 24}}, 0, {ours});
    EXPECT_TRUE(due(0).empty()) << "nor is IPv4 probed for";
    EXPECT_TRUE(sends(hear(request(them, theirs, ours))));
}

/// What was asked while the link went down has reached nobody.
TEST_F(LocalAddressesTest, AreProbedForAgainAfterTheLinkWasDown) {
    engine.set_addresses({{ours, 64}}, 0);
    due(0);
    engine.clear();
    EXPECT_FALSE(engine.deadline());
    const auto again = engine.announce(10 * second);
    ASSERT_TRUE(sends(again));
    EXPECT_EQ(std::get<Send>(again[0]).message, request(us, std::nullopt, ours));
    due(11 * second);
    engine.clear();
    const auto known = engine.announce(20 * second);
    ASSERT_TRUE(sends(known));
    EXPECT_EQ(std::get<Send>(known[0]).message.source, ours) << "ours since: announced at once";
}

TEST_F(LocalAddressesTest, AskForANeighbourAsSoonAsTheyCan) {
    engine.set_addresses({{ours, 64}}, 0);
    due(0);
    const auto asked = engine.resolve(theirs, 100 * millisecond);
    EXPECT_TRUE(asked.empty()) << "neither failed, nor solicited from an address that is not ours yet";
    const auto sent = due(2 * second);
    EXPECT_TRUE(std::ranges::any_of(sent, [](const Message& message) { return message == request(us, ours, theirs); }));
}

/// One that two routers have by turns.
struct VirtualAddressesTest : LocalAddressesTest {
    VirtualAddressesTest() : LocalAddressesTest(of_one_of_two()) {
        engine.set_addresses({{ours, 64}, {shared, 24}, {local, 64}}, 0, {ours, local});
        engine.announce(0);
        due(0);
    }
    static Parameters of_one_of_two() {
        auto parameters = of_a_router;
        parameters.virtual_addresses = {shared};
        return parameters;
    }
    bool answers(Time now) { return sends(hear(request(them, asker, shared), now)); }
    /// How often it is announced until then.
    std::size_t announced(Time now) {
        return std::ranges::count_if(due(now), [&](const Message& message) { return message.source == shared; });
    }

    static inline const wire::Gid shared = gid("10.1.0.1"), asker = gid("10.1.0.7");
};

TEST_F(VirtualAddressesTest, AreAnnouncedAgainAndAgain) {
    EXPECT_EQ(announced(60 * second), 60u);
    EXPECT_TRUE(answers(60 * second));
    EXPECT_EQ(engine.addresses().source_for(asker), shared);
}

TEST_F(VirtualAddressesTest, AreYieldedToWhoeverAnnouncesThem) {
    const auto actions = hear(announcement(them, shared), 500 * millisecond);
    EXPECT_FALSE(sends(actions)) << "it is not defended";
    EXPECT_FALSE(first<Conflict>(actions)) << "nor is it a fault";
    EXPECT_FALSE(answers(second));
    EXPECT_NE(engine.addresses().source_for(asker), shared);
    EXPECT_EQ(announced(3 * second), 0u);
    hear(announcement(them, shared), 3 * second);
    EXPECT_EQ(announced(6 * second - 1), 0u) << "it is still held there";
    EXPECT_FALSE(answers(6 * second - 1));
}

TEST_F(VirtualAddressesTest, ComeBackWhenNobodyAnnouncesThem) {
    hear(announcement(them, shared), 500 * millisecond);
    EXPECT_EQ(announced(3500 * millisecond), 1u);
    EXPECT_TRUE(answers(3500 * millisecond));
    EXPECT_EQ(engine.addresses().source_for(asker), shared);
}

TEST_F(VirtualAddressesTest, AreSaidToBeYieldedOnceAndToBeBackOnce) {
    const auto yielded = first<Yielded>(hear(announcement(them, shared), 500 * millisecond));
    ASSERT_TRUE(yielded);
    EXPECT_EQ(yielded->address, shared);
    EXPECT_FALSE(yielded->back);
    EXPECT_EQ(yielded->to, LinkAddress(them));
    EXPECT_FALSE(first<Yielded>(hear(announcement(them, shared), second)));
    EXPECT_FALSE(first<Yielded>(engine.tick(4 * second - 1)));
    const auto back = first<Yielded>(engine.tick(4 * second));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->address, shared);
    EXPECT_TRUE(back->back);
    EXPECT_FALSE(first<Yielded>(engine.tick(60 * second)));
    EXPECT_TRUE(first<Yielded>(hear(announcement(them, shared), 60 * second))) << "the next time";
}

/// A solicitation may omit its link-layer address (RFC 4861, 4.3), and frames of IPoIB have none.
TEST_F(VirtualAddressesTest, AreYieldedToAHostThatDoesNotSayWhereItIs) {
    auto nameless = announcement(them, shared);
    nameless.at.reset();
    const auto yielded = first<Yielded>(hear(nameless, 500 * millisecond));
    ASSERT_TRUE(yielded);
    EXPECT_FALSE(yielded->back);
    EXPECT_FALSE(yielded->to);
}

TEST_F(VirtualAddressesTest, AreNotClaimedWhenALinkIsUpAgain) {
    hear(announcement(them, shared), 500 * millisecond);
    engine.clear();  // the link is down
    engine.announce(second);
    EXPECT_EQ(announced(4 * second - 1), 0u) << "the other may be alive";
    EXPECT_EQ(announced(4 * second), 1u);
}

TEST_F(VirtualAddressesTest, AreTakenAtOnceWhenTheyAreSetAgain) {
    hear(announcement(them, shared), 500 * millisecond);
    engine.set_addresses({{ours, 64}, {local, 64}}, second, {ours, local});
    engine.set_addresses({{ours, 64}, {shared, 24}, {local, 64}}, second, {ours, local});
    EXPECT_TRUE(std::ranges::any_of(engine.announce(second), [](const Action& action) {
        const auto* send = std::get_if<Send>(&action);
        return send != nullptr && send->message.source == shared;
    })) << "the daemon has set it";
    EXPECT_TRUE(answers(second));
}

TEST_F(VirtualAddressesTest, AreOrdinaryOnesWhenToldSo) {
    hear(announcement(them, shared), 500 * millisecond);
    ASSERT_FALSE(answers(second));
    engine.set_virtual_addresses({}, second);
    EXPECT_TRUE(answers(second));
    EXPECT_EQ(announced(60 * second), of_a_router.announcements) << "at once, and not again and again";
    const auto actions = hear(announcement(them, shared), 60 * second);
    EXPECT_TRUE(first<Conflict>(actions)) << "it is ours alone";
    EXPECT_FALSE(first<Yielded>(actions));
}

TEST_F(VirtualAddressesTest, MayBeThoseThatWereNot) {
    engine.set_virtual_addresses({shared, ours}, 0);
    EXPECT_EQ(std::ranges::count_if(due(10 * second), [&](const Message& message) { return message.source == ours; }),
              11);
    EXPECT_TRUE(first<Yielded>(hear(announcement(them, ours), 10 * second)));
    EXPECT_FALSE(engine.addresses().answers_for(ours));
    engine.set_virtual_addresses({shared, ours}, 10 * second);
    EXPECT_FALSE(engine.addresses().answers_for(ours)) << "nothing has changed";
    EXPECT_TRUE(answers(10 * second));
}

}  // namespace
}  // namespace verbline::neighbour
