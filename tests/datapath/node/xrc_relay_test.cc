// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/node/xrc_relay.h"

#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/datapath/node/xrc_model.h"

namespace verbline::node {
namespace {

using Verdict = XrcRelay::Verdict;
using wire::Aeth, wire::AethKind, wire::NakCode, wire::Psn;

constexpr link::MemberId five{5}, six{6};
constexpr std::uint32_t queue_of(link::MemberId member) {
    return link::first_qpn(member) + 1;
}

/// A connection whose first PSN is about to wrap, shared by two members.
struct XrcRelayTest : ::testing::Test {
    XrcRelayTest() {
        relay.join(five, true);
        relay.join(six, true);
    }
    static XrcRequest request(std::uint32_t psn, link::MemberId member) {
        return {.psn = first + psn, .shared_queue = queue_of(member)};
    }
    static XrcRequest read(std::uint32_t psn, link::MemberId member, std::uint32_t packets) {
        return {.psn = first + psn, .psns = packets, .shared_queue = queue_of(member), .repeatable = true};
    }
    static XrcResponse ack(std::uint32_t psn, std::uint32_t msn) {
        return {.psn = first + psn, .aeth = Aeth{.value = wire::credits_invalid, .msn = msn}};
    }
    static XrcResponse nak(std::uint32_t psn, AethKind kind, std::uint8_t value, std::uint32_t msn = 0) {
        return {.psn = first + psn, .aeth = Aeth{.kind = kind, .value = value, .msn = msn}};
    }
    static XrcResponse nak(std::uint32_t psn, NakCode code, std::uint32_t msn = 0) {
        return nak(psn, AethKind::nak, static_cast<std::uint8_t>(code), msn);
    }
    void expect_pass(const XrcRelay::Decision& decision, link::MemberId member, std::uint32_t leg_psn) {
        EXPECT_EQ(decision.verdict, Verdict::pass);
        EXPECT_EQ(decision.member, member);
        EXPECT_EQ(decision.psn, first + leg_psn);
    }
    static void expect_nak(const XrcRelay::Decision& decision, NakCode code, std::uint32_t psn) {
        EXPECT_EQ(decision.verdict, Verdict::answer);
        EXPECT_EQ(decision.aeth.kind, AethKind::nak);
        EXPECT_EQ(decision.aeth.value, static_cast<std::uint8_t>(code));
        EXPECT_EQ(decision.psn, first + psn);
    }
    void expect_relayed(const std::optional<XrcRelay::Relayed>& relayed, std::uint32_t psn, std::uint32_t msn) {
        ASSERT_TRUE(relayed);
        EXPECT_EQ(relayed->psn, first + psn);
        EXPECT_EQ(relayed->msn, msn);
    }

    static constexpr Psn first{0xff'fffe};
    XrcRelay relay{first};
};

TEST_F(XrcRelayTest, RequestsForOneMemberHaveItsPsns) {
    for (std::uint32_t psn = 0; psn < 4; ++psn) expect_pass(relay.receive(request(psn, five)), five, psn);
    expect_relayed(relay.answer(five, ack(3, 4)), 3, 4);
}

TEST_F(XrcRelayTest, ARequestForAnotherWaitsUntilAllBeforeItIsAnswered) {
    relay.receive(request(0, five));
    relay.receive(request(1, five));
    EXPECT_EQ(relay.receive(request(2, six)).verdict, Verdict::hold);
    EXPECT_EQ(relay.receive(request(3, six)).verdict, Verdict::hold);
    EXPECT_EQ(relay.receive(request(4, five)).verdict, Verdict::hold) << "behind those held, although it is for five";
    expect_relayed(relay.answer(five, ack(0, 1)), 0, 1);
    EXPECT_EQ(relay.release(request(2, six)).verdict, Verdict::hold);
    expect_relayed(relay.answer(five, ack(1, 2)), 1, 2);
    expect_pass(relay.release(request(2, six)), six, 0);
    expect_pass(relay.release(request(3, six)), six, 1);
    EXPECT_EQ(relay.release(request(4, five)).verdict, Verdict::hold);
    expect_relayed(relay.answer(six, ack(1, 2)), 3, 4);
    expect_pass(relay.release(request(4, five)), five, 2);
    expect_relayed(relay.answer(five, ack(2, 3)), 4, 5);
}

TEST_F(XrcRelayTest, DuplicatesFindTheirLegAgain) {
    relay.receive(request(0, five));
    relay.answer(five, ack(0, 1));
    relay.receive(request(1, six));
    relay.receive(request(2, six));
    relay.answer(six, ack(1, 2));
    relay.receive(request(3, five));
    expect_pass(relay.receive(request(0, five)), five, 0);
    expect_pass(relay.receive(request(2, six)), six, 1);
    expect_pass(relay.receive(request(3, five)), five, 1);
    // The answer to the first: an ACK of what the leg executed last.
    expect_relayed(relay.answer(five, ack(0, 1)), 0, 3);
    expect_relayed(relay.answer(six, ack(1, 2)), 2, 3);
    expect_relayed(relay.answer(five, ack(1, 2)), 3, 4);
}

TEST_F(XrcRelayTest, AReadTakesThePsnsOfItsResponse) {
    expect_pass(relay.receive(read(0, six, 3)), six, 0);
    EXPECT_EQ(relay.receive(request(3, five)).verdict, Verdict::hold);
    expect_relayed(relay.answer(six, ack(0, 1)), 0, 1);
    const auto middle = relay.answer(six, {.psn = first + 1, .aeth = {}});
    ASSERT_TRUE(middle);
    EXPECT_FALSE(middle->msn);
    EXPECT_EQ(relay.release(request(3, five)).verdict, Verdict::hold);
    expect_relayed(relay.answer(six, ack(2, 1)), 2, 1);
    expect_pass(relay.release(request(3, five)), five, 0);
    expect_pass(relay.receive(read(1, six, 2)), six, 1);  // its end is asked for again
}

TEST_F(XrcRelayTest, ARnrNakIsThePeersToWaitFor) {
    relay.receive(request(0, five));
    relay.answer(five, ack(0, 1));
    relay.receive(request(1, six));
    relay.receive(request(2, six));
    const auto relayed = relay.answer(six, nak(0, AethKind::rnr_nak, 12));
    expect_relayed(relayed, 1, 1);
    EXPECT_FALSE(relay.failed());
    expect_pass(relay.receive(request(1, six)), six, 0);
    expect_relayed(relay.answer(six, ack(1, 2)), 2, 3);
}

TEST_F(XrcRelayTest, ASequenceNakAnswersWhatIsBeforeIt) {
    relay.receive(request(0, five));
    relay.receive(request(1, five));
    EXPECT_EQ(relay.receive(request(2, six)).verdict, Verdict::hold);
    expect_relayed(relay.answer(five, nak(1, NakCode::psn_sequence, 1)), 1, 1);
    EXPECT_EQ(relay.release(request(2, six)).verdict, Verdict::hold) << "1 is to come again";
    expect_pass(relay.receive(request(1, five)), five, 1);
    EXPECT_EQ(relay.receive(request(2, six)).verdict, Verdict::drop) << "it is held";
    relay.answer(five, ack(1, 2));
    expect_pass(relay.release(request(2, six)), six, 0);
}

TEST_F(XrcRelayTest, AGapIsReportedOnceAndAgainWhenThePeerSteppedBack) {
    relay.receive(request(0, five));
    relay.answer(five, ack(0, 1));
    expect_nak(relay.receive(request(2, five)), NakCode::psn_sequence, 1);
    EXPECT_EQ(relay.receive(request(3, five)).verdict, Verdict::drop);
    expect_nak(relay.receive(request(2, five)), NakCode::psn_sequence, 1);
    expect_pass(relay.receive(request(1, five)), five, 1);
    expect_nak(relay.receive(request(3, five)), NakCode::psn_sequence, 1);
}

TEST_F(XrcRelayTest, ASharedReceiveQueueOfNobodyIsAnInvalidRequest) {
    relay.receive(request(0, five));
    EXPECT_EQ(relay.receive(request(1, link::MemberId{7})).verdict, Verdict::hold) << "it may not answer for the first";
    relay.answer(five, ack(0, 1));
    expect_nak(relay.release(request(1, link::MemberId{7})), NakCode::invalid_request, 1);
    EXPECT_TRUE(relay.failed());
    EXPECT_EQ(relay.receive(request(1, five)).verdict, Verdict::drop);
    EXPECT_FALSE(relay.answer(five, ack(0, 1)));
}

TEST_F(XrcRelayTest, ALegThatIsNotReadyIsWaitedFor) {
    XrcRelay early(first);
    early.join(five, false);
    EXPECT_EQ(early.receive(request(0, five)).verdict, Verdict::hold);
    early.join(five, true);
    expect_pass(early.release(request(0, five)), five, 0);
}

TEST_F(XrcRelayTest, AMemberThatIsGoneWithRequestsUnderWayEndsTheConnection) {
    relay.receive(request(0, five));
    relay.receive(request(1, five));
    relay.answer(five, ack(0, 1));
    const auto nak = relay.leave(five);
    ASSERT_TRUE(nak);
    expect_nak(*nak, NakCode::remote_operational, 1);
    EXPECT_TRUE(relay.failed());
}

TEST_F(XrcRelayTest, AMemberThatIsGoneWithoutLeavesTheConnectionToTheOthers) {
    relay.receive(request(0, five));
    relay.answer(five, ack(0, 1));
    EXPECT_FALSE(relay.leave(five));
    expect_pass(relay.receive(request(1, six)), six, 0);
    EXPECT_EQ(relay.receive(request(0, five)).verdict, Verdict::drop) << "a duplicate for nobody";
    relay.answer(six, ack(0, 1));
    expect_nak(relay.receive(request(2, five)), NakCode::invalid_request, 2);
}

TEST_F(XrcRelayTest, AMemberThatComesBackBeginsAnew) {
    relay.receive(request(0, five));
    relay.receive(request(1, five));
    relay.answer(five, ack(1, 2));
    relay.leave(five);
    relay.join(five, true);
    EXPECT_EQ(relay.receive(request(1, five)).verdict, Verdict::drop) << "a duplicate for the leg that is gone";
    EXPECT_FALSE(relay.answer(five, ack(1, 2)));
    expect_pass(relay.receive(request(2, five)), five, 0);
    expect_relayed(relay.answer(five, ack(0, 1)), 2, 3);
}

TEST_F(XrcRelayTest, AFatalNakOfALegEndsTheConnection) {
    relay.receive(request(0, five));
    expect_relayed(relay.answer(five, nak(0, NakCode::remote_access)), 0, 0);
    EXPECT_TRUE(relay.failed());
    EXPECT_EQ(relay.failure(), NakCode::remote_access);
}

TEST_F(XrcRelayTest, TheQueueMayNotChangeWithinAMessage) {
    auto begin = request(0, five);
    begin.last = false;
    relay.receive(begin);
    expect_nak(relay.receive(request(1, six)), NakCode::invalid_request, 1);
}

TEST_F(XrcRelayTest, OthersCannotAnswerForAMember) {
    relay.receive(request(0, five));
    EXPECT_FALSE(relay.answer(six, ack(0, 1)));
    EXPECT_FALSE(relay.answer(five, ack(1, 1))) << "nothing of this PSN was sent";
    EXPECT_EQ(relay.receive(request(1, six)).verdict, Verdict::hold);
}

TEST_F(XrcRelayTest, HoldsSoManyAndNoMore) {
    relay.receive(request(0, five));
    std::uint32_t psn = 1;
    for (; psn <= XrcRelay::most_held; ++psn) ASSERT_EQ(relay.receive(request(psn, six)).verdict, Verdict::hold);
    EXPECT_EQ(relay.receive(request(psn, six)).verdict, Verdict::drop_full);
    relay.answer(five, ack(0, 1));
    expect_pass(relay.release(request(1, six)), six, 0);
    EXPECT_EQ(relay.receive(request(psn, six)).verdict, Verdict::hold) << "the same again";
    EXPECT_EQ(relay.receive(request(psn + 1, six), false).verdict, Verdict::drop_full) << "the caller has no room";
}

TEST(XrcRelayModel, KeepsItsPromisesOnEveryWay) {
    for (unsigned seed = 0; seed < 400; ++seed) {
        std::mt19937 random(seed);
        const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
        std::vector<unsigned> members;
        std::vector<std::uint32_t> psns;
        for (unsigned i = 0; i < 40; ++i) {
            members.push_back(below(4) == 0 || members.empty() ? below(test::XrcModel::legs) : members.back());
            psns.push_back(below(5) == 0 ? 2 + below(3) : 1);
        }
        bool kept = true;
        test::XrcModel model(Psn{static_cast<std::uint32_t>(random())}, members, psns,
                             [&](bool good, const char* what) {
                                 if (!good && std::exchange(kept, false))
                                     ADD_FAILURE() << "seed " << seed << ": " << what;
                             });
        for (unsigned step = 0; step < 1000 && kept; ++step) {
            const auto leg = below(test::XrcModel::legs);
            const bool lost = below(10) == 0;
            switch (below(8)) {
                case 0:
                case 1: model.send(lost); break;
                case 2: below(20) == 0 ? model.go_back() : (void)model.refuse_request(leg); break;
                case 3:
                case 4: model.deliver_request(leg, lost); break;
                default: model.deliver_answer(leg, lost); break;
            }
        }
        if (kept) model.finish();
    }
}

TEST_F(XrcRelayTest, OfSpansLongPastTheNodeItselfTells) {
    std::uint32_t psn = 0, of_five = 0, of_six = 0;
    for (; psn < 600; ++psn) {
        const auto member = psn % 2 == 0 ? five : six;
        auto& leg = member == five ? of_five : of_six;
        expect_pass(relay.receive(request(psn, member)), member, leg);
        relay.answer(member, ack(leg, leg + 1));
        ++leg;
    }
    const auto told = relay.receive(request(0, five));
    EXPECT_EQ(told.verdict, Verdict::answer);
    EXPECT_EQ(told.aeth.kind, AethKind::ack);
    EXPECT_EQ(told.psn, first + 599);
    EXPECT_EQ(told.aeth.msn, 600u);
    EXPECT_EQ(relay.receive(read(0, five, 1)).verdict, Verdict::drop) << "an ACK would hide that its data is lost";
}

}  // namespace
}  // namespace verbline::node
