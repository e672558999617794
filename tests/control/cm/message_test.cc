// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/message.h"

#include <type_traits>

#include <gtest/gtest.h>

namespace verbline::cm {
namespace {

TEST(Message, IsRefusedByItsHeader) {
    const auto good = make_mad(wire::CmRtu{.local_id = 1, .remote_id = 2}, 3);
    ASSERT_TRUE(ReceivedMessage::parse(good));
    EXPECT_EQ(ReceivedMessage::parse(good)->sender_id(), 1u);
    EXPECT_EQ(ReceivedMessage::parse(good)->receiver_id(), 2u);
    EXPECT_EQ(ReceivedMessage::parse(good)->transaction(), 3u);
    const auto with = [&](std::size_t at, std::uint8_t value) {
        auto mad = good;
        wire::store8(mad, at, value);
        return ReceivedMessage::parse(mad).error();
    };
    EXPECT_EQ(with(0, 2), Count::rx_dropped_malformed);
    EXPECT_EQ(with(1, 3), Count::rx_dropped_malformed);
    EXPECT_EQ(with(2, 1), Count::rx_dropped_class_version);
    EXPECT_EQ(with(3, 1), Count::rx_dropped_malformed);
    EXPECT_EQ(with(17, 0x0f), Count::rx_dropped_malformed);
    EXPECT_EQ(with(17, 0x1b), Count::rx_dropped_malformed);
}

TEST(Message, AnswerToADatagramRequestCarriesTheAskersId) {
    const auto mad = make_mad(wire::CmSidrRep{.request_id = 7, .status = wire::SidrStatus::rejected}, 0);
    EXPECT_EQ(ReceivedMessage::parse(mad)->receiver_id(), 7u);
}

template <class... Messages>
void expect_the_same(const Messages&... messages) {
    const auto expect_one = [](const auto& message) {
        using Message = std::remove_cvref_t<decltype(message)>;
        const auto read = ReceivedMessage::parse(make_mad(message, 5));
        ASSERT_TRUE(read);
        EXPECT_EQ(read->attribute(), attribute_of<Message>);
        EXPECT_EQ(read->template as<Message>(), message);
        EXPECT_EQ(read->sender_id(), 1u);
    };
    (expect_one(messages), ...);
}

TEST(Message, ParsesEveryMessageToTheSameType) {
    expect_the_same(
        wire::CmReq{.local_id = 1, .service = wire::CmServiceId{7}, .primary = {.remote_lid = wire::Lid{9}}},
        wire::CmMra{.local_id = 1, .service_timeout = 3}, wire::CmRej{.local_id = 1, .remote_id = 2},
        wire::CmRep{.local_id = 1, .qpn = wire::Qpn{8}}, wire::CmRtu{.local_id = 1, .remote_id = 2},
        wire::CmDreq{.local_id = 1, .remote_id = 2}, wire::CmDrep{.local_id = 1, .remote_id = 2},
        wire::CmSidrReq{.request_id = 1, .service = wire::CmServiceId{7}},
        wire::CmSidrRep{.request_id = 1, .status = wire::SidrStatus::rejected},
        wire::CmLap{.local_id = 1, .remote_id = 2}, wire::CmApr{.local_id = 1, .remote_id = 2});
}

TEST(Message, CountersAreInTheOrderOfTheAttributes) {
    EXPECT_EQ(sent(wire::CmAttribute::req), Count::tx_req);
    EXPECT_EQ(sent(wire::CmAttribute::sidr_rep), Count::tx_sidr_rep);
    EXPECT_EQ(sent(wire::CmAttribute::apr), Count::tx_apr);
    EXPECT_EQ(received(wire::CmAttribute::req), Count::rx_req);
    EXPECT_EQ(received(wire::CmAttribute::drep), Count::rx_drep);
    EXPECT_EQ(received(wire::CmAttribute::apr), Count::rx_apr);
}

}  // namespace
}  // namespace verbline::cm
