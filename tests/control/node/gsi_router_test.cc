// SPDX-License-Identifier: BSD-3-Clause
#include "control/node/gsi_router.h"

#include <map>
#include <set>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "datapath/wire/ip_cm_header.h"

namespace verbline::node {
namespace {

constexpr link::MemberId one{1}, two{2}, three{3};
constexpr wire::CmServiceId service{0x106'4000}, nobodys{0x106'4001};

constexpr std::uint32_t id_of(link::MemberId member, std::uint32_t number) {
    return cm::ids_of(member).id(number);
}

struct GsiRouterTest : ::testing::Test {
    template <class Message>
    GsiRouter::Verdict from(PeerMember sender, const Message& message, bool to_wire = false) {
        const auto received = cm::ReceivedMessage::parse(cm::make_mad(message, 7)).value();
        return router.route({.from = sender, .to_wire = to_wire, .headers = headers, .message = received});
    }
    template <class Message>
    GsiRouter::Verdict from_wire(const Message& message) {
        return from(std::nullopt, message);
    }
    template <class Message>
    GsiRouter::Verdict to_wire(link::MemberId sender, const Message& message) {
        return from(sender, message, true);
    }
    static std::optional<link::MemberId> receiver(const GsiRouter::Verdict& verdict) {
        const auto* const to = std::get_if<GsiRouter::Deliver>(&verdict);
        return to == nullptr ? std::nullopt : std::optional(to->to);
    }
    static bool transmitted(const GsiRouter::Verdict& verdict) {
        return std::holds_alternative<GsiRouter::Transmit>(verdict);
    }
    template <class Message>
    static Message answer(const GsiRouter::Verdict& verdict) {
        const auto* const given = std::get_if<GsiRouter::Answer>(&verdict);
        if (given == nullptr) throw std::runtime_error("no answer");
        return cm::ReceivedMessage::parse(given->mad).value().as<Message>();
    }
    template <class Message>
    static Message content(const Teardown& teardown) {
        return cm::ReceivedMessage::parse(teardown.mad).value().as<Message>();
    }
    /// A connection of `one`, who has asked for it, to somebody on the wire with the id 900.
    void connect() {
        EXPECT_TRUE(transmitted(to_wire(one, wire::CmReq{.local_id = id_of(one, 5), .service = service})));
        EXPECT_EQ(
            receiver(from_wire(wire::CmRep{.local_id = 900, .remote_id = id_of(one, 5), .qpn = wire::Qpn{0x1234}})),
            one);
        EXPECT_TRUE(transmitted(to_wire(one, wire::CmRtu{.local_id = id_of(one, 5), .remote_id = 900})));
    }

    /// A request to `service`, with the IP CM header of one from 10.0.0.9 to 10.0.0.<last>.
    template <class Request>
    static Request request_to(std::uint8_t last, Request request = {.service = service}) {
        wire::IpCmHeader header{.source_port = 7};
        wire::store32(header.source.bytes, link::ipv4_in_gid, 0x0a00'0009);
        wire::store32(header.destination.bytes, link::ipv4_in_gid, 0x0a00'0000 + last);
        header.emit(std::span(request.private_data).template first<wire::IpCmHeader::size>());
        return request;
    }

    std::map<wire::CmServiceId, link::MemberId> holders{{service, two}};
    std::vector<RequestTarget> sought;
    std::set<link::MemberId> members{one, two, three};
    GsiHeaders headers{.carrier = link::Carrier::roce_v1, .covered_at = 14, .network_at = 14, .size = 74};
    GsiRouter router{{.holder = [this](const RequestTarget& wanted) -> std::optional<link::MemberId> {
                          sought.push_back(wanted);
                          const auto found = holders.find(wanted.service);
                          return found == holders.end() ? std::nullopt : std::optional(found->second);
                      },
                      .attached = [this](link::MemberId member) { return members.contains(member); }}};
};

TEST_F(GsiRouterTest, ARequestGoesToWhoHasItsPort) {
    EXPECT_EQ(receiver(from_wire(wire::CmReq{.local_id = 900, .service = service})), two);
    EXPECT_EQ(receiver(from_wire(wire::CmSidrReq{.request_id = 900, .service = service})), two);
}

TEST_F(GsiRouterTest, ItsDestinationIsInItsPrivateData) {
    using rdmacm::Family, rdmacm::SocketAddress;
    from_wire(request_to<wire::CmReq>(1));
    from_wire(request_to<wire::CmSidrReq>(2));
    ASSERT_EQ(sought.size(), 2u);
    EXPECT_EQ(sought[0].service, service);
    EXPECT_EQ(sought[0].destination, (SocketAddress{.gid = link::gid_of(wire::ipv4(10, 0, 0, 1))}));
    EXPECT_EQ(sought[1].destination, (SocketAddress{.gid = link::gid_of(wire::ipv4(10, 0, 0, 2))}));
}

TEST_F(GsiRouterTest, WithoutAHeaderItIsForAGidOrForAService) {
    using rdmacm::Family;
    const auto gid = wire::Gid::of(0xfd00'0000'0000'0000, wire::Guid{7});
    auto strange = request_to<wire::CmReq>(1, {.local_id = 900, .service = service, .primary = {.remote_gid = gid}});
    strange.private_data[1] = std::byte{0x70};  // no IP version
    EXPECT_EQ(receiver(from_wire(strange)), two);
    EXPECT_EQ(receiver(from_wire(wire::CmSidrReq{.request_id = 900, .service = service})), two);
    ASSERT_EQ(sought.size(), 2u);
    ASSERT_TRUE(sought[0].destination);
    EXPECT_EQ(sought[0].destination->family, Family::ib);
    EXPECT_EQ(sought[0].destination->gid, gid);
    EXPECT_EQ(sought[1].destination, std::nullopt);
}

TEST_F(GsiRouterTest, OneForNobodyIsRefused) {
    const auto rej = answer<wire::CmRej>(from_wire(wire::CmReq{.local_id = 900, .service = nobodys}));
    EXPECT_EQ(rej.remote_id, 900u);
    EXPECT_EQ(rej.about, wire::CmAbout::req);
    EXPECT_EQ(rej.reason, wire::CmRejectReason::invalid_service_id);
    const auto rep = answer<wire::CmSidrRep>(from_wire(wire::CmSidrReq{.request_id = 901, .service = nobodys}));
    EXPECT_EQ(rep.request_id, 901u);
    EXPECT_EQ(rep.status, wire::SidrStatus::unsupported_service);
}

TEST_F(GsiRouterTest, AnsweredByIdWhicheverMemberItIs) {
    EXPECT_EQ(receiver(from_wire(wire::CmRep{.local_id = 900, .remote_id = id_of(three, 1)})), three);
    EXPECT_EQ(receiver(from_wire(wire::CmRtu{.local_id = 900, .remote_id = id_of(two, 9)})), two);
    EXPECT_EQ(receiver(from_wire(wire::CmSidrRep{.request_id = id_of(one, 2)})), one);
    EXPECT_EQ(receiver(from_wire(wire::CmDreq{.local_id = 900, .remote_id = id_of(one, 3)})), one);
}

TEST_F(GsiRouterTest, AMemberSpeaksForItselfOnly) {
    const wire::CmReq forged{.local_id = id_of(two, 1), .service = service};
    EXPECT_EQ(std::get<GsiDrop>(to_wire(one, forged)), GsiDrop::gsi_dropped_foreign_id);
    const wire::CmDreq end{.local_id = id_of(two, 1), .remote_id = 900};
    EXPECT_EQ(std::get<GsiDrop>(to_wire(one, end)), GsiDrop::gsi_dropped_foreign_id);
}

TEST_F(GsiRouterTest, WithoutAnIdItAnswersWhatItWasAskedOnly) {
    // Who refuses a request may have no id for it, and that of a SIDR_REP is the requester's.
    from_wire(wire::CmReq{.local_id = 900, .service = service});
    from_wire(wire::CmSidrReq{.request_id = 901, .service = service});
    EXPECT_EQ(std::get<GsiDrop>(to_wire(one, wire::CmRej{.remote_id = 900})), GsiDrop::gsi_dropped_foreign_id);
    EXPECT_EQ(std::get<GsiDrop>(to_wire(one, wire::CmSidrRep{.request_id = 901})), GsiDrop::gsi_dropped_foreign_id);
    EXPECT_TRUE(transmitted(to_wire(two, wire::CmRej{.remote_id = 900})));
    EXPECT_TRUE(transmitted(to_wire(two, wire::CmSidrRep{.request_id = 901})));
    EXPECT_TRUE(router.leave(two, 0).empty()) << "both are answered";
}

TEST_F(GsiRouterTest, ASidrRequestOfAKilledMemberIsRefused) {
    from_wire(wire::CmSidrReq{.request_id = 901, .service = service});
    members.erase(two);
    const auto teardowns = router.leave(two, 0);
    ASSERT_EQ(teardowns.size(), 1u);
    EXPECT_EQ(content<wire::CmSidrRep>(teardowns[0]).request_id, 901u);
    EXPECT_EQ(content<wire::CmSidrRep>(teardowns[0]).status, wire::SidrStatus::rejected);
}

TEST_F(GsiRouterTest, MembersReachEachOther) {
    EXPECT_EQ(receiver(from(one, wire::CmReq{.local_id = id_of(one, 1), .service = service})), two);
    EXPECT_EQ(receiver(from(two, wire::CmRep{.local_id = id_of(two, 1), .remote_id = id_of(one, 1)})), one);
}

TEST_F(GsiRouterTest, BothMayRequestAtOnce) {
    EXPECT_TRUE(transmitted(to_wire(three, wire::CmReq{.local_id = id_of(three, 1), .service = nobodys})));
    EXPECT_EQ(receiver(from_wire(wire::CmReq{.local_id = 900, .service = nobodys})), three);
    EXPECT_EQ(receiver(from_wire(wire::CmRep{.local_id = 900, .remote_id = id_of(three, 1)})), three);
    EXPECT_TRUE(std::holds_alternative<GsiRouter::Answer>(from_wire(wire::CmReq{.local_id = 901, .service = nobodys})))
        << "its request has been answered";
}

TEST_F(GsiRouterTest, AKilledMembersConnectionsAreEnded) {
    connect();
    members.erase(one);
    const auto teardowns = router.leave(one, 0);
    ASSERT_EQ(teardowns.size(), 1u);
    EXPECT_EQ(teardowns[0].to, std::nullopt);
    const auto dreq = content<wire::CmDreq>(teardowns[0]);
    EXPECT_EQ(dreq.local_id, id_of(one, 5));
    EXPECT_EQ(dreq.remote_id, 900u);
    EXPECT_EQ(dreq.remote_qpn, wire::Qpn{0x1234});
    EXPECT_TRUE(router.closing(one));
    // It is repeated until there is an answer.
    EXPECT_EQ(router.tick(*router.deadline()).size(), 1u);
    from_wire(wire::CmDrep{.local_id = 900, .remote_id = id_of(one, 5)});
    EXPECT_FALSE(router.closing(one));
    EXPECT_FALSE(router.deadline());
    EXPECT_EQ(router.size(), 0u);
}

TEST_F(GsiRouterTest, APeerThatDoesNotAnswerIsGivenUp) {
    connect();
    members.erase(one);
    auto sent = router.leave(one, 0).size();
    while (const auto due = router.deadline()) sent += router.tick(*due).size();
    EXPECT_EQ(sent, ConnectionTracker::teardown_attempts);
    EXPECT_FALSE(router.closing(one));
    EXPECT_EQ(router.size(), 0u);
}

TEST_F(GsiRouterTest, OneThatLeavesAgainMeanwhileIsEndedOnce) {
    connect();
    router.leave(one, 0);
    EXPECT_EQ(router.leave(one, 1).size(), 1u);
    while (const auto due = router.deadline()) router.tick(*due);
    EXPECT_EQ(router.size(), 0u);
}

TEST_F(GsiRouterTest, ARequestThatAKilledMemberHasNotAnsweredIsRefused) {
    EXPECT_EQ(receiver(from_wire(wire::CmReq{.local_id = 900, .service = service})), two);
    members.erase(two);
    const auto teardowns = router.leave(two, 0);
    ASSERT_EQ(teardowns.size(), 1u);
    const auto rej = content<wire::CmRej>(teardowns[0]);
    EXPECT_EQ(rej.remote_id, 900u);
    EXPECT_EQ(rej.reason, wire::CmRejectReason::consumer);
    EXPECT_FALSE(router.closing(two)) << "a REJ has no answer";
}

TEST_F(GsiRouterTest, OneThatWasAcceptedIsEnded) {
    from_wire(wire::CmReq{.local_id = 900, .service = service, .qpn = wire::Qpn{0x77}});
    EXPECT_TRUE(transmitted(to_wire(two, wire::CmRep{.local_id = id_of(two, 3), .remote_id = 900})));
    members.erase(two);
    const auto teardowns = router.leave(two, 0);
    ASSERT_EQ(teardowns.size(), 1u);
    EXPECT_EQ(content<wire::CmDreq>(teardowns[0]).remote_qpn, wire::Qpn{0x77});
}

TEST_F(GsiRouterTest, WhatTheyHaveEndedThemselvesIsNotEndedAgain) {
    connect();
    EXPECT_TRUE(transmitted(to_wire(one, wire::CmDreq{.local_id = id_of(one, 5), .remote_id = 900})));
    EXPECT_EQ(receiver(from_wire(wire::CmDrep{.local_id = 900, .remote_id = id_of(one, 5)})), one);
    EXPECT_TRUE(router.leave(one, 0).empty());
}

TEST_F(GsiRouterTest, TheOtherMemberOfTheNodeIsToldToo) {
    from(one, wire::CmReq{.local_id = id_of(one, 1), .service = service, .qpn = wire::Qpn{0x4010}});
    from(two, wire::CmRep{.local_id = id_of(two, 1), .remote_id = id_of(one, 1), .qpn = wire::Qpn{0x8010}});
    members.erase(one);
    const auto teardowns = router.leave(one, 0);
    ASSERT_EQ(teardowns.size(), 1u);
    EXPECT_EQ(teardowns[0].to, two);
    EXPECT_EQ(content<wire::CmDreq>(teardowns[0]).remote_qpn, wire::Qpn{0x8010});
}

TEST_F(GsiRouterTest, MembersThatAreGoneStillAnswer) {
    members.clear();
    const auto drep = answer<wire::CmDrep>(from_wire(wire::CmDreq{.local_id = 900, .remote_id = id_of(three, 3)}));
    EXPECT_EQ(drep.local_id, id_of(three, 3));
    EXPECT_EQ(drep.remote_id, 900u);
    const auto rej = answer<wire::CmRej>(from_wire(wire::CmRep{.local_id = 900, .remote_id = id_of(three, 3)}));
    EXPECT_EQ(rej.about, wire::CmAbout::rep);
    EXPECT_EQ(std::get<GsiDrop>(from_wire(wire::CmRtu{.local_id = 900, .remote_id = id_of(three, 3)})),
              GsiDrop::gsi_dropped_no_member);
}

TEST_F(GsiRouterTest, RequestsThatAreNotAnsweredMakeRoom) {
    for (std::uint32_t i = 0; i < ConnectionTracker::most_requests + 5; ++i) {
        from_wire(wire::CmSidrReq{.request_id = 1000 + i, .service = service});
    }
    const std::uint32_t newest = 1000 + ConnectionTracker::most_requests + 4;
    EXPECT_TRUE(transmitted(to_wire(two, wire::CmSidrRep{.request_id = newest})));
    EXPECT_EQ(std::get<GsiDrop>(to_wire(two, wire::CmSidrRep{.request_id = 1004})), GsiDrop::gsi_dropped_foreign_id);
    EXPECT_EQ(router.leave(two, 0).size(), ConnectionTracker::most_requests - 1) << "all that are known";
}

TEST_F(GsiRouterTest, AMemberCannotFillTheNodesMemory) {
    for (std::uint32_t i = 0; i < ConnectionTracker::most_of_member + 100; ++i) {
        to_wire(one, wire::CmReq{.local_id = id_of(one, i + 1), .service = nobodys});
    }
    EXPECT_EQ(router.size(), ConnectionTracker::most_of_member);
}

}  // namespace
}  // namespace verbline::node
