// SPDX-License-Identifier: BSD-3-Clause
// How links come about and end: questions, answers, offers, and what becomes of peers.
#include "pmd/direct/direct_links.h"

#include "tests/pmd/direct/fixture.h"
#include "tests/support/decorator.h"

namespace verbline::pmd {
namespace {

using namespace test_direct;
using test::ByteVector;

TEST(DirectLinksDecorator, ForwardsToItsLane) {
    auto owned = std::make_unique<test::WrappedDevice>();
    auto& lane = *owned;
    const auto device =
        DirectLinks::create(std::move(owned), {.pool = test::packet_pool(), .clock = [] { return Time{0}; }});
    ASSERT_TRUE(device);
    EXPECT_EQ((*device)->name(), "wrapped");
    EXPECT_EQ((*device)->mac(), lane.mac());
    lane.urgent = true;
    EXPECT_TRUE((*device)->wants_link_up());
    EXPECT_EQ(counter(**device, "fake_counter"), 1u);
    EXPECT_TRUE((*device)->link_up()) << "also before anybody introduces";
}

TEST_F(DirectLinksTest, TheFirstFrameRequestsALinkAndTakesTheLane) {
    EXPECT_FALSE(a.device->wants_link_up());
    ASSERT_EQ(a.send(frame(b.address, a.address)), 1u);
    EXPECT_EQ(a.sent_by_lane().size(), 1u);
    EXPECT_TRUE(a.broker.asked.empty()) << "not on the path of packets";
    EXPECT_TRUE(a.device->wants_link_up());
    EXPECT_TRUE(a.device->link_up());
    EXPECT_EQ(a.broker.asked, std::vector{b.address});
    EXPECT_TRUE(a.device->wants_link_up()) << "an answer is to come";
    a.send(frame(b.address, a.address));
    a.device->link_up();
    EXPECT_EQ(a.broker.asked.size(), 1u) << "once";
    EXPECT_EQ(a.sent_by_lane().size(), 1u);
}

TEST_F(DirectLinksTest, GroupsAndRuntsRequestNoLink) {
    a.send(frame(group, a.address));
    a.send(frame(wire::broadcast_mac, a.address));
    a.send(ByteVector(10));
    EXPECT_FALSE(a.device->wants_link_up());
    EXPECT_EQ(a.sent_by_lane().size(), 3u);
}

TEST_F(DirectLinksTest, FramesBypassTheLaneOnceLinked) {
    introduce(a, b);
    ASSERT_TRUE(connect(a, b));
    EXPECT_FALSE(a.device->wants_link_up());
    EXPECT_FALSE(b.device->wants_link_up());
    for (const auto& [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
        ASSERT_EQ(from->send(frame(to->address, from->address, 7)), 1u);
        EXPECT_EQ(to->receive(), Frames{frame(to->address, from->address, 7)});
        EXPECT_TRUE(from->lane->sent.empty());
        EXPECT_EQ(counter(*from->device, "direct_tx_good_packets"), 1u);
        EXPECT_EQ(counter(*from->device, "direct_link_connects"), 1u);
        EXPECT_TRUE(from->broker.asked.empty());
    }
}

TEST_F(DirectLinksTest, ARefusalIsRememberedForSeconds) {
    a.send(frame(b.address, a.address));
    a.device->link_up();
    a.broker.refuse(b.address);
    a.device->link_up();
    EXPECT_EQ(counter(*a.device, "direct_refused"), 1u);
    a.send(frame(b.address, a.address));
    EXPECT_FALSE(a.device->wants_link_up());
    now += DirectLinks::refusal_time;
    a.device->link_up();
    a.send(frame(b.address, a.address));
    EXPECT_TRUE(a.device->wants_link_up());
    a.device->link_up();
    EXPECT_EQ(a.broker.asked.size(), 2u);
    EXPECT_EQ(a.sent_by_lane().size(), 3u);
}

TEST_F(DirectLinksTest, AnOfferIsTakenInSpiteOfARefusal) {
    a.broker.refuse(b.address);
    a.device->link_up();
    introduce(b, a);
    EXPECT_TRUE(connect(a, b));
}

TEST_F(DirectLinksTest, OfferReplacesRefusedRequest) {
    introduce(a, b);
    b.broker.refuse(a.address);  // both had asked
    ASSERT_TRUE(connect(a, b));
    b.send(frame(a.address, b.address));
    EXPECT_TRUE(b.lane->sent.empty());
}

TEST_F(DirectLinksTest, AHubThatDoesNotAnswerHasRefused) {
    a.send(frame(b.address, a.address));
    a.device->link_up();
    now += DirectLinks::answer_limit;
    a.device->link_up();
    EXPECT_FALSE(a.device->wants_link_up());
    a.send(frame(b.address, a.address));
    EXPECT_FALSE(a.device->wants_link_up());
}

TEST_F(DirectLinksTest, ARequestThatCannotBeSentWaits) {
    a.broker.silent = true;
    a.send(frame(b.address, a.address));
    a.device->link_up();
    EXPECT_FALSE(a.device->wants_link_up()) << "it may take long";
    a.broker.silent = false;
    a.device->link_up();
    EXPECT_EQ(a.broker.asked.size(), 1u);
}

TEST_F(DirectLinksTest, APeerThatDoesNotConnectIsGivenUp) {
    introduce(a, b);
    a.device->link_up();
    EXPECT_TRUE(a.device->wants_link_up());
    now += DirectLinks::answer_limit + 1;
    a.device->link_up();
    EXPECT_FALSE(a.device->wants_link_up());
    EXPECT_EQ(a.broker.ended, std::set{DirectId{last_id}});
    EXPECT_EQ(counter(*a.device, "direct_failures"), 1u);
    a.send(frame(b.address, a.address));
    EXPECT_EQ(a.sent_by_lane().size(), 1u);
    EXPECT_FALSE(a.device->wants_link_up()) << "nor asked for again soon";
}

TEST_F(DirectLinksTest, NewsThatLostTheirSocketAreARefusal) {
    a.broker.say({DirectNews::Kind::granted, b.address, DirectId{5}, 0, {}});
    a.device->link_up();
    EXPECT_EQ(a.broker.ended, std::set{DirectId{5}});
    EXPECT_EQ(counter(*a.device, "direct_failures"), 1u);
    EXPECT_FALSE(a.device->wants_link_up());
}

TEST_F(DirectLinksTest, WithoutThePeerTheLaneCarriesOn) {
    introduce(a, b);
    ASSERT_TRUE(connect(a, b));
    ASSERT_EQ(b.send(frame(a.address, b.address, 1)), 1u);
    b.device.reset();
    a.device->link_up();
    EXPECT_EQ(links(a), 0u);
    EXPECT_EQ(a.broker.ended, std::set{DirectId{last_id}});
    EXPECT_EQ(a.receive(), Frames{frame(a.address, b.address, 1)}) << "what it had said is heard";
    a.send(frame(b.address, a.address));
    EXPECT_EQ(a.sent_by_lane().size(), 1u);
    a.device->link_up();
    EXPECT_EQ(a.broker.asked, std::vector{b.address}) << "it may be there again";
    a.broker.refuse(b.address);
    a.device->link_up();
    EXPECT_FALSE(a.device->wants_link_up());
    a.send(frame(b.address, a.address));
    EXPECT_FALSE(a.device->wants_link_up()) << "it is not";
    now += second;
    a.device->link_up();
    EXPECT_EQ(counter(*a.device, "direct_link_losses"), 1u) << "what links had counted stays";
    EXPECT_EQ(counter(*a.device, "direct_rx_good_packets"), 1u);
}

TEST_F(DirectLinksTest, APeerThatIsStartedAgainGetsANewLink) {
    introduce(a, b);
    ASSERT_TRUE(connect(a, b));
    Host again(2, now);
    introduce(again, a);  // whatever became of the link before
    ASSERT_TRUE(connect(again, a));
    a.send(frame(again.address, a.address, 9));
    EXPECT_EQ(again.receive(), Frames{frame(again.address, a.address, 9)});
    EXPECT_TRUE(b.receive().empty());
    EXPECT_TRUE(a.sent_by_lane().empty());
}

TEST_F(DirectLinksTest, APeerThatSendsByTheLaneAgainIsLookedAt) {
    introduce(a, b);
    ASSERT_TRUE(connect(a, b));
    a.lane->receive(frame(group, b.address));
    a.lane->receive(frame(a.address, mac(3)));
    EXPECT_EQ(a.receive().size(), 2u);
    EXPECT_FALSE(a.device->wants_link_up());
    a.lane->receive(frame(a.address, b.address));
    EXPECT_EQ(a.receive().size(), 1u);
    EXPECT_TRUE(a.device->wants_link_up());
}

TEST_F(DirectLinksTest, FramesUseTheLaneBeyondMaxLinks) {
    std::deque<Host> peers;
    for (unsigned i = 0; i < DirectLinks::max_links; ++i) {
        introduce(peers.emplace_back(10 + i, now), a);
        for (int step = 0; step < 4; ++step) peers.back().device->link_up(), a.device->link_up();
    }
    ASSERT_EQ(links(a), DirectLinks::max_links);
    a.send(frame(b.address, a.address));
    a.device->link_up();
    EXPECT_TRUE(a.broker.asked.empty());
    EXPECT_FALSE(a.device->wants_link_up());
    introduce(b, a);
    a.device->link_up();
    EXPECT_EQ(a.broker.ended, std::set{DirectId{last_id}});
    EXPECT_EQ(links(a), DirectLinks::max_links);
    a.send(frame(peers.front().address, a.address, 3));
    EXPECT_EQ(peers.front().receive().size(), 1u);
}

TEST_F(DirectLinksTest, ManyPeersAreRequestedAtALimitedRate) {
    const auto talk = [&](unsigned hosts) {
        for (unsigned i = 0; i < hosts; ++i) {
            a.send(frame(
                wire::MacAddress{{std::byte{2}, {}, {}, {}, static_cast<std::byte>(i >> 8), static_cast<std::byte>(i)}},
                a.address));
            a.device->link_up();
            if (!a.broker.asked.empty()) a.broker.refuse(a.broker.asked.back());
        }
        a.sent_by_lane();
    };
    talk(1000);
    EXPECT_EQ(a.broker.asked.size(), DirectLinks::first_questions);
    EXPECT_FALSE(a.device->wants_link_up()) << "nothing is urgent about the next";
    now += 10 * DirectLinks::question_interval;
    talk(1000);
    EXPECT_EQ(a.broker.asked.size(), DirectLinks::first_questions + 10);
}

TEST_F(DirectLinksTest, AfterARestartOfTheHubTheLaneCarriesOnUntilThereIsANewLink) {
    introduce(a, b);
    ASSERT_TRUE(connect(a, b));
    a.device->restart();
    b.device->restart();
    EXPECT_EQ(links(a), 0u);
    EXPECT_TRUE(a.broker.ended.empty()) << "that hub knows of none";
    a.send(frame(b.address, a.address, 3));
    EXPECT_EQ(a.sent_by_lane().size(), 1u);
    introduce(b, a);
    ASSERT_TRUE(connect(b, a));
    a.send(frame(b.address, a.address, 4));
    EXPECT_EQ(b.receive(), Frames{frame(b.address, a.address, 4)});
}

TEST_F(DirectLinksTest, DownEndsThem) {
    introduce(a, b);
    ASSERT_TRUE(connect(a, b));
    a.device->down();
    EXPECT_FALSE(a.lane->is_up);
    b.device->link_up();
    EXPECT_EQ(links(a), 0u);
    EXPECT_EQ(links(b), 0u);
}

}  // namespace
}  // namespace verbline::pmd
