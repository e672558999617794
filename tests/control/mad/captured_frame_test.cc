// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/captured_frame.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "datapath/wire/ib_packet.h"

namespace verbline::mad {
namespace {

const PortFacts port{.lid = wire::Lid{3},
                     .sm_lid = wire::Lid{1},
                     .pkeys = {wire::PKey{0xffff}, wire::PKey{0x8001}},
                     .qpn = wire::Qpn{0x1000}};
const MadAddress far{.lid = wire::Lid{1}, .sl = 2, .pkey_index = 1};

MadBuffer some_mad() {
    MadBuffer mad{};
    for (std::size_t i = 0; i < mad.size(); ++i) mad[i] = static_cast<std::byte>(i);
    return mad;
}

TEST(CapturedFrame, IsAPacketThatEveryChannelAdapterWouldAccept) {
    const auto frame = make_frame(Direction::sent, some_mad(), far, port);
    EXPECT_EQ(wire::verify(frame), wire::IbCheck::ok);
    const auto lrh = *wire::Lrh::parse(frame);
    EXPECT_EQ(lrh.source, port.lid);
    EXPECT_EQ(lrh.destination, far.lid);
    EXPECT_EQ(lrh.service_level, 2);
    const auto bth = *wire::Bth::parse(wire::Bytes(frame).subspan(8));
    EXPECT_EQ(bth.dest, gsi);
    EXPECT_EQ(bth.pkey, wire::PKey{0x8001});
    const auto deth = *wire::Deth::parse(wire::Bytes(frame).subspan(20));
    EXPECT_EQ(deth.qkey, wire::gsi_qkey);
    EXPECT_EQ(deth.source, gsi) << "QP1, although ibsim has us elsewhere";
    EXPECT_TRUE(std::ranges::equal(wire::Bytes(frame).subspan(28, 256), some_mad()));
}

TEST(CapturedFrame, ReceivedFrameHasRemoteLidAsSource) {
    const auto lrh = *wire::Lrh::parse(make_frame(Direction::received, some_mad(), far, port));
    EXPECT_EQ(lrh.source, far.lid);
    EXPECT_EQ(lrh.destination, port.lid);
}

TEST(CapturedFrame, SubnetManagementHasItsOwnQueuePairAndLane) {
    const auto frame = make_frame(Direction::sent, some_mad(), {.lid = wire::Lid{1}, .qpn = smi}, port);
    EXPECT_EQ(wire::Lrh::parse(frame)->virtual_lane, 15);
    EXPECT_EQ(wire::Bth::parse(wire::Bytes(frame).subspan(8))->dest, smi);
}

TEST(CapturedFrame, APKeyIndexOutsideTheTableIsTheDefaultPartition) {
    const auto frame = make_frame(Direction::sent, some_mad(), {.lid = wire::Lid{1}, .pkey_index = 9}, port);
    EXPECT_EQ(wire::Bth::parse(wire::Bytes(frame).subspan(8))->pkey, wire::PKey{0xffff});
}

}  // namespace
}  // namespace verbline::mad
