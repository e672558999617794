// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/sidr.h"

#include <gtest/gtest.h>

#include "datapath/wire/class_port_info.h"
#include "tests/control/cm/recording_sink.h"

namespace verbline::cm {
namespace {

TEST(Sidr, RetransmitsUntilItTimesOut) {
    test::RecordingSink sink;
    Sidr sidr(CommunicationId{5});
    sidr.resolve({.service = wire::CmServiceId{1}, .max_cm_retries = 2}, 0, sink);
    for (int i = 0; i < 3; ++i) sidr.tick(*sidr.deadline(), sink);
    EXPECT_EQ(sink.sent.size(), 3u);
    ASSERT_EQ(sink.reported.size(), 1u);
    EXPECT_EQ(std::get<Unanswered>(sink.reported[0]).what, Unanswered::What::service_request);
    EXPECT_FALSE(sidr.deadline());
    EXPECT_EQ(sidr.state(), ConnectionState::idle);
}

TEST(Sidr, FollowsARedirectOnce) {
    const auto first = wire::Gid::of(1, wire::Guid{1}), second = wire::Gid::of(1, wire::Guid{2});
    const auto at = [](const wire::Gid& gid) {
        return mad::GmpPeer{.path = {.address = {.global = true, .dgid = gid}}};
    };
    test::RecordingSink sink;
    Sidr sidr(CommunicationId{5});
    ServiceRequest request{.service = wire::CmServiceId{1}};
    request.path.remote_gid = first;
    request.path.route = at(first).path;
    sidr.resolve(request, 0, sink);
    wire::CmSidrRep rep{.request_id = 5, .status = wire::SidrStatus::redirect, .information_length = 72};
    wire::ClassPortInfo{.redirect_gid = second, .redirect_qpn = wire::Qpn{1}, .redirect_qkey = wire::gsi_qkey}.emit(
        rep.information);
    const auto mad = make_mad(rep, 5);
    sidr.receive(*ReceivedMessage::parse(mad), at(first), millisecond, sink);
    EXPECT_TRUE(sink.reported.empty());
    ASSERT_EQ(sink.sent.size(), 2u);
    EXPECT_EQ(sink.sent[1].first.path.address.dgid, second);
    EXPECT_EQ(sink.sent[1].second, sink.sent[0].second);
    EXPECT_EQ(sink.counted.back(), Count::tx_sidr_req);
    sidr.receive(*ReceivedMessage::parse(mad), at(second), 2 * millisecond, sink);
    ASSERT_EQ(sink.reported.size(), 1u);
    EXPECT_EQ(std::get<ServiceReplyReceived>(sink.reported[0]).reply.status, wire::SidrStatus::redirect);
}

TEST(Sidr, DroppedWithoutAnAnswerItRefuses) {
    test::RecordingSink sink;
    Sidr sidr(CommunicationId{5});
    const auto mad = make_mad(wire::CmSidrReq{.request_id = 9}, 1);
    sidr.accept(*ReceivedMessage::parse(mad), {}, 0);
    sidr.abandon(0, sink);
    ASSERT_EQ(sink.sent.size(), 1u);
    EXPECT_EQ(sink.last().as<wire::CmSidrRep>().status, wire::SidrStatus::rejected);
    EXPECT_EQ(sink.last().as<wire::CmSidrRep>().request_id, 9u);
    sidr.tick(*sidr.deadline(), sink);
    EXPECT_EQ(sidr.state(), ConnectionState::idle);
}

}  // namespace
}  // namespace verbline::cm
