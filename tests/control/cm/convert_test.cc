// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/convert.h"

#include <gtest/gtest.h>

namespace verbline::cm {
namespace {

Request full_request() {
    Request request{.service = wire::CmServiceId{1},
                    .qpn = wire::Qpn{2},
                    .psn = wire::Psn{3},
                    .pkey = wire::PKey{0x8001},
                    .responder_resources = 4,
                    .initiator_depth = 5,
                    .shared_receive_queue = true};
    request.primary.local_gid = wire::Gid::of(1, wire::Guid{1});
    request.primary.remote_gid = wire::Gid::of(1, wire::Guid{2});
    request.primary.flow_label = 0x12345;
    return request;
}

TEST(Convert, ReceivedRequestSwapsLocalAndRemote) {
    auto sent = full_request();
    sent.alternate = sent.primary;
    sent.alternate->hop_limit = 3;
    const auto got = from_message(to_message(sent, wire::Guid{9}), {.path = {.gid_index = 7}});
    EXPECT_EQ(got.qpn, sent.qpn);
    EXPECT_EQ(got.psn, sent.psn);
    EXPECT_EQ(got.pkey, sent.pkey);
    EXPECT_EQ(got.responder_resources, 4);
    EXPECT_EQ(got.initiator_depth, 5);
    EXPECT_TRUE(got.shared_receive_queue);
    EXPECT_EQ(got.primary.local_gid, sent.primary.remote_gid);
    EXPECT_EQ(got.primary.remote_gid, sent.primary.local_gid);
    EXPECT_EQ(got.primary.packet_lifetime, sent.primary.packet_lifetime);
    EXPECT_EQ(got.primary.route.gid_index, 7u);
    EXPECT_EQ(got.primary.route.address.dgid, sent.primary.local_gid);
    EXPECT_EQ(got.primary.route.address.flow_label, 0x12345u);
    ASSERT_TRUE(got.alternate);
    EXPECT_EQ(got.alternate->hop_limit, 3);
    EXPECT_EQ(got.private_data, PrivateData(92));
}

TEST(Convert, OnInfiniBandAPathInsideTheSubnetNeedsNoGlobalHeader) {
    auto sent = full_request();
    sent.primary.local_lid = wire::Lid{3};
    sent.primary.remote_lid = wire::Lid{4};
    sent.primary.subnet_local = true;
    const auto got = from_message(to_message(sent, wire::Guid{9}), {});
    EXPECT_FALSE(got.primary.route.address.global);
    EXPECT_EQ(got.primary.route.address.dlid, wire::Lid{3});
    EXPECT_EQ(got.primary.local_lid, wire::Lid{4});
    EXPECT_FALSE(got.alternate);
}

TEST(Convert, AnXrcInitiatorLeavesUnsetWhatDescribesResponders) {
    auto sent = full_request();
    sent.transport = Transport::xrc;
    const auto req = to_message(sent, wire::Guid{9});
    EXPECT_EQ(req.transport, wire::CmTransport::extended);
    EXPECT_EQ(req.extended_transport, wire::CmExtendedTransport::xrc);
    EXPECT_EQ(req.responder_resources, 0);
    EXPECT_EQ(req.retry_count, 0);
    EXPECT_EQ(req.rnr_retry_count, 0);
    EXPECT_FALSE(req.shared_receive_queue);
    EXPECT_EQ(from_message(req, {}).transport, Transport::xrc);
}

TEST(Convert, WhatIsTooLongIsRefused) {
    EXPECT_TRUE(fits(Request{.private_data = PrivateData(92)}));
    EXPECT_EQ(fits(Request{.private_data = PrivateData(93)}).error().code, EINVAL);
    EXPECT_FALSE(fits(Reply{.private_data = PrivateData(197)}));
    EXPECT_FALSE(fits(Rejection{.private_data = PrivateData(149)}));
    EXPECT_FALSE(fits(Rejection{.information = PrivateData(73)}));
    EXPECT_FALSE(fits(AlternateReply{.information = PrivateData(73)}));
    EXPECT_FALSE(fits(ServiceRequest{.private_data = PrivateData(217)}));
    EXPECT_FALSE(fits(ServiceReply{.private_data = PrivateData(137)}));
}

}  // namespace
}  // namespace verbline::cm
