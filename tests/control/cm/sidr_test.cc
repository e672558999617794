// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/sidr.h"

#include <gtest/gtest.h>

#include "tests/control/cm/recording_context.h"

namespace verbline::cm {
namespace {

TEST(Sidr, AsksUntilNobodyCanBeThere) {
    test::RecordingContext context;
    Sidr sidr(CommunicationId{5});
    sidr.resolve({.service = wire::CmServiceId{1}, .max_cm_retries = 2}, 0, context);
    for (int i = 0; i < 3; ++i) sidr.tick(*sidr.deadline(), context);
    EXPECT_EQ(context.sent.size(), 3u);
    ASSERT_EQ(context.told.size(), 1u);
    EXPECT_EQ(std::get<Unanswered>(context.told[0]).what, Unanswered::What::service_request);
    EXPECT_FALSE(sidr.deadline());
    EXPECT_EQ(sidr.state(), State::idle);
}

TEST(Sidr, DroppedWithoutAnAnswerItRefuses) {
    test::RecordingContext context;
    Sidr sidr(CommunicationId{5});
    const auto mad = make_mad(wire::CmSidrReq{.request_id = 9}, 1);
    sidr.accept(*Incoming::parse(mad), {}, 0);
    sidr.abandon(0, context);
    ASSERT_EQ(context.sent.size(), 1u);
    EXPECT_EQ(context.last().as<wire::CmSidrRep>().status, wire::SidrStatus::rejected);
    EXPECT_EQ(context.last().as<wire::CmSidrRep>().request_id, 9u);
    sidr.tick(*sidr.deadline(), context);
    EXPECT_EQ(sidr.state(), State::idle);
}

}  // namespace
}  // namespace verbline::cm
