// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/neighbours.h"

#include <gtest/gtest.h>

#include "tests/datapath/neighbour/link.h"

namespace verbline::neighbour {
namespace {

const auto third = mac(3);

/// Each in both families.
struct Names {
    const char* ours;
    const char* theirs;
    const char* other;
    std::uint8_t length;
};

struct NeighboursTest : ::testing::TestWithParam<Names> {
    const wire::Gid ours = gid(GetParam().ours), theirs = gid(GetParam().theirs), other = gid(GetParam().other);
    Neighbours neighbours{us, 16};
    Time now = second;

    NeighboursTest() { neighbours.set_addresses({{ours, GetParam().length}}, now); }
    std::optional<Frame> hear(const Frame& frame) { return neighbours.received(frame.view(), now).reply; }
    /// Lets time pass; what was sent meanwhile.
    std::vector<Message> pass(Time time) {
        std::vector<Message> sent;
        for (const auto end = now + time; now < end; now += millisecond) {
            for (const auto& frame : neighbours.tick(now).frames) sent.push_back(read_frame(frame.view()).message);
        }
        return sent;
    }
};
INSTANTIATE_TEST_SUITE_P(Families, NeighboursTest,
                         ::testing::Values(Names{"10.1.0.1", "10.1.0.2", "10.1.0.3", 24},
                                           Names{"fd00::1", "fd00::2", "fd00::3", 64}),
                         [](const auto& family) { return family.index == 0 ? "Ipv4" : "Ipv6"; });

TEST_P(NeighboursTest, SolicitsAndLearnsFromTheReply) {
    EXPECT_FALSE(neighbours.lookup(theirs, now));
    const auto question = neighbours.solicit(theirs, now);
    ASSERT_TRUE(question);
    const auto read = read_frame(question->view()).message;
    EXPECT_TRUE(read.solicits);
    EXPECT_EQ(read.source, ours);
    EXPECT_EQ(read.subject, theirs);
    EXPECT_FALSE(hear(make_reply(them, theirs, ours, us)));
    EXPECT_EQ(neighbours.lookup(theirs, now), them);
    EXPECT_EQ(neighbours.lookup(ours, now), us);
}

TEST_P(NeighboursTest, RepeatsARequestUntilItIsAnswered) {
    pass(10 * second);
    ASSERT_TRUE(neighbours.solicit(theirs, now));
    EXPECT_FALSE(neighbours.solicit(theirs, now)) << "under way";
    EXPECT_EQ(pass(300 * millisecond).size(), 1u) << "the first repeat comes early";
    EXPECT_TRUE(neighbours.resolving(theirs));
    hear(make_reply(them, theirs, ours, us));
    EXPECT_FALSE(neighbours.resolving(theirs));
    EXPECT_FALSE(neighbours.deadline()) << "nothing to send";
    EXPECT_TRUE(pass(10 * second).empty());
}

TEST_P(NeighboursTest, GivesUpWhereNoneIsAnswered) {
    pass(10 * second);
    ASSERT_TRUE(neighbours.solicit(theirs, now));
    const auto timeout = Neighbours::parameters.resolution_timeout();
    EXPECT_GT(timeout, 3 * second) << "RFC 4861, 10: three, a second apart";
    EXPECT_EQ(pass(timeout).size(), 3u);
    EXPECT_TRUE(neighbours.resolving(theirs));
    EXPECT_EQ(neighbours.deadline(), now);
    EXPECT_TRUE(neighbours.tick(now).failed);
    EXPECT_FALSE(neighbours.resolving(theirs));
    EXPECT_FALSE(neighbours.lookup(theirs, now));
    EXPECT_TRUE(neighbours.solicit(theirs, now)) << "and begins anew";
}

TEST_P(NeighboursTest, RepliesForItsOwnAddressAndLearnsTheSender) {
    const auto reply = hear(make_request(them, theirs, ours));
    ASSERT_TRUE(reply);
    EXPECT_EQ(read_frame(reply->view()).message.at, LinkAddress(us));
    EXPECT_EQ(read_frame(reply->view()).message.subject, theirs);
    EXPECT_EQ(neighbours.lookup(theirs, now), them);
    EXPECT_FALSE(hear(make_request(them, theirs, other))) << "not ours";
    pass(10 * second);
    EXPECT_TRUE(hear(make_request(third, std::nullopt, ours))) << "a probe";
    EXPECT_FALSE(neighbours.conflict());
}

TEST_P(NeighboursTest, UnsolicitedRepliesUpdateEntriesButAddNone) {
    hear(make_announcement(them, theirs));
    hear(make_reply(them, theirs, ours, us));
    EXPECT_FALSE(neighbours.lookup(theirs, now));
    EXPECT_EQ(neighbours.counters().value(Event::rx_dropped_unsolicited), 2u);
    neighbours.solicit(theirs, now);
    hear(make_announcement(them, theirs));
    EXPECT_EQ(neighbours.lookup(theirs, now), them);
    hear(make_announcement(third, theirs));
    EXPECT_EQ(neighbours.lookup(theirs, now), third) << "moved";
    EXPECT_EQ(neighbours.counters().value(Event::changed), 1u);
}

TEST_P(NeighboursTest, ExpiresEntriesAfterALifetimeWithoutMessages) {
    hear(make_request(them, theirs, ours));
    pass(40 * second);
    hear(make_request(them, theirs, other));  // to someone else, but a sign of life
    pass(40 * second);
    EXPECT_EQ(neighbours.lookup(theirs, now), them);
    pass(21 * second);
    EXPECT_FALSE(neighbours.lookup(theirs, now));
}

TEST_P(NeighboursTest, ProbesThenAnnouncesTwice) {
    const auto sent = pass(10 * second);
    ASSERT_EQ(sent.size(), 3u);
    EXPECT_TRUE(sent[0].solicits && !sent[0].source && sent[0].subject == ours);
    for (const auto i : {1, 2}) EXPECT_EQ(sent[i].source, ours);
    EXPECT_FALSE(neighbours.deadline());
    neighbours.set_addresses({{ours, GetParam().length}, {other, GetParam().length}}, now);
    const auto more = pass(10 * second);
    ASSERT_EQ(more.size(), 3u) << "of the new one alone";
    EXPECT_EQ(more[0].subject, other);
}

TEST_P(NeighboursTest, AnAddressThatAnotherHadFirstIsNotUsed) {
    ASSERT_EQ(pass(10 * millisecond).size(), 1u);
    EXPECT_FALSE(hear(make_reply(them, ours, std::nullopt, us)));
    EXPECT_EQ(neighbours.conflict(), ours);
    EXPECT_TRUE(pass(10 * second).empty());
    EXPECT_FALSE(hear(make_request(third, other, ours)));
    EXPECT_NE(read_frame(neighbours.solicit(theirs, now).value_or(Frame{}).view()).message.source, ours);
    neighbours.set_addresses({}, now);
    EXPECT_FALSE(neighbours.conflict());
}

TEST_P(NeighboursTest, TwoThatProbeAtTheSameTimeBothFindOut) {
    ASSERT_EQ(pass(10 * millisecond).size(), 1u);
    EXPECT_FALSE(hear(make_request(them, std::nullopt, ours)));
    EXPECT_EQ(neighbours.conflict(), ours);
}

TEST_P(NeighboursTest, AnAddressThatIsOursIsDefendedOnceInAWhile) {
    pass(10 * second);
    const auto defence = hear(make_announcement(them, ours));
    ASSERT_TRUE(defence);
    EXPECT_EQ(read_frame(defence->view()).message.source, ours);
    EXPECT_EQ(neighbours.conflict(), ours);
    EXPECT_FALSE(hear(make_announcement(them, ours)));
    EXPECT_TRUE(hear(make_request(them, theirs, ours))) << "still answered for";
    pass(10 * second);
    EXPECT_TRUE(hear(make_announcement(them, ours)));
}

TEST_P(NeighboursTest, OurOwnFramesComeBackWithoutHarm) {
    EXPECT_FALSE(hear(make_announcement(us, ours)));
    EXPECT_FALSE(hear(make_request(us, ours, ours)));
    EXPECT_FALSE(neighbours.conflict());
    EXPECT_EQ(neighbours.size(), 0u);
}

TEST_P(NeighboursTest, TableIsBoundedAndKeepsRequestedEntries) {
    const auto numbered = [&](unsigned n) {
        auto address = theirs;
        address.bytes[15] = static_cast<std::byte>(n);
        return address;
    };
    neighbours.solicit(numbered(10), now);
    hear(make_reply(mac(10), numbered(10), ours, us));
    for (unsigned n = 20; n < 200; ++n, now += millisecond) hear(make_request(mac(n), numbered(n), ours));
    EXPECT_EQ(neighbours.size(), 16u);
    EXPECT_EQ(neighbours.lookup(numbered(10), now), mac(10));
    EXPECT_EQ(neighbours.lookup(numbered(199), now), mac(199));
    for (unsigned n = 20; n < 60; ++n, now += millisecond) EXPECT_TRUE(neighbours.solicit(numbered(n), now));
    EXPECT_EQ(neighbours.size(), 16u);
    EXPECT_TRUE(hear(make_request(mac(99), numbered(99), ours))) << "answered, even if not remembered";
    EXPECT_EQ(neighbours.counters().value(Event::rx_not_learned), 1u);
}

TEST_P(NeighboursTest, HostsOfOtherNetworksAreAnsweredButNotLearned) {
    const auto far = gid(ours == gid("10.1.0.1") ? "192.168.7.7" : "fd99::7");
    EXPECT_TRUE(hear(make_request(them, far, ours)));
    EXPECT_EQ(neighbours.size(), 0u);
}

TEST(Neighbours, LinkLocalAddressesSayTheirMac) {
    Neighbours neighbours(us);
    EXPECT_EQ(neighbours.lookup(link::link_local_gid(them), 0), them);
    EXPECT_EQ(neighbours.lookup(link::link_local_gid(us), 0), us);
    EXPECT_FALSE(neighbours.lookup(gid("fe80::1"), 0));
    const auto reply =
        neighbours.received(make_request(them, link::link_local_gid(them), link::link_local_gid(us)).view(), 0);
    EXPECT_TRUE(reply.reply);
    EXPECT_FALSE(neighbours.deadline());
}

TEST(Neighbours, SolicitsFromAnAddressOfTheNetworkOrElseOfTheFamily) {
    Neighbours neighbours(us);
    EXPECT_FALSE(neighbours.solicit(gid("10.1.0.2"), 0)) << "nothing to ask from";
    neighbours.set_addresses({{gid("10.1.0.1"), 24}, {gid("10.2.0.1"), 16}, {gid("fd00::1"), 64}}, 0);
    const auto from = [&](const char* to) {
        return read_frame(neighbours.solicit(gid(to), 0).value().view()).message.source;
    };
    EXPECT_EQ(from("10.1.0.2"), gid("10.1.0.1"));
    EXPECT_EQ(from("10.2.200.2"), gid("10.2.0.1"));
    EXPECT_EQ(family_of(*from("172.16.0.1")), Family::ipv4);
    EXPECT_EQ(from("fd00::9"), gid("fd00::1"));
    EXPECT_EQ(from("fe80::9"), link::link_local_gid(us));
    for (const auto* nobody : {"10.1.0.1", "224.0.0.1", "127.0.0.1", "255.255.255.255", "::", "::1", "ff02::1"}) {
        EXPECT_FALSE(neighbours.solicit(gid(nobody), 0)) << nobody;
    }
}

TEST(Neighbours, LeavesOtherFramesAlone) {
    Neighbours neighbours(us);
    EXPECT_FALSE(neighbours.received({}, 0).taken);
    EXPECT_FALSE(neighbours.received(std::array<std::byte, 64>{}, 0).taken);
}

TEST_P(NeighboursTest, ALongStepOfTimeIsNotMadeUpFor) {
    hear(make_request(them, theirs, ours));
    now += 48 * 3600 * second;
    EXPECT_EQ(neighbours.tick(now).frames.size() + neighbours.tick(now).frames.size(), 1u)
        << "the probe; announcements come as far apart as ever";
    EXPECT_GT(neighbours.deadline(), now);
    EXPECT_FALSE(neighbours.lookup(theirs, now));
    EXPECT_TRUE(neighbours.solicit(theirs, now));
    hear(make_reply(them, theirs, ours, us));
    EXPECT_EQ(neighbours.lookup(theirs, now), them);
}

}  // namespace
}  // namespace verbline::neighbour
