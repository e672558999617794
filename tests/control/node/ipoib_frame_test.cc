// SPDX-License-Identifier: BSD-3-Clause
#include "control/node/ipoib_frame.h"

#include <gtest/gtest.h>

#include "datapath/link/arrival.h"
#include "datapath/link/member.h"
#include "datapath/wire/deth.h"
#include "datapath/wire/ipoib.h"
#include "tests/datapath/link/frames.h"

namespace verbline::node {
namespace {

constexpr wire::QKey qkey{0xb1b};
constexpr wire::PKey blue{0x8001};

struct IpoibFrame : ::testing::TestWithParam<std::size_t> {
    static test::Way way() { return test::ways().back(); }
    test::ByteVector frame(wire::Qpn qpn, wire::QKey key = qkey) const {
        return make_ipoib_frame(way().from, {.to = way().to, .qpn = qpn, .qkey = key, .pkey = blue}, wire::Psn{7},
                                packet);
    }

    const test::ByteVector packet = test::pattern(GetParam());
};

TEST_P(IpoibFrame, IsAValidPacket) {
    const auto made = frame(link::node_ipoib_qpn);
    const auto arrival = test::open_frame(made);
    ASSERT_TRUE(arrival) << "all lengths and CRCs";
    EXPECT_EQ(link::source_lid(made, *arrival), way().from.lid);
    EXPECT_EQ(link::destination_lid(made, *arrival), way().to.dlid);
    const auto bth = wire::Bth::parse(wire::Bytes(made).subspan(arrival->bth_at));
    EXPECT_EQ(bth->pkey, wire::PKey{0x8001});
    EXPECT_EQ(bth->psn, wire::Psn{7});
    const auto deth = wire::Deth::parse(wire::Bytes(made).subspan(arrival->bth_at + wire::Bth::size));
    EXPECT_EQ(deth->source, link::node_ipoib_qpn);
}

TEST_P(IpoibFrame, ComesOutAsItWentIn) {
    for (const auto qpn : {link::node_ipoib_qpn, wire::multicast_qpn}) {
        const auto made = frame(qpn);
        const auto opened = open_ipoib_frame(made, qkey, blue);
        ASSERT_TRUE(opened);
        EXPECT_TRUE(std::ranges::equal(*opened, packet));
    }
}

TEST_P(IpoibFrame, OthersAreRefused) {
    EXPECT_FALSE(open_ipoib_frame(frame(wire::Qpn{17}), qkey, blue));
    EXPECT_FALSE(open_ipoib_frame(frame(link::node_ipoib_qpn, wire::QKey{1}), qkey, blue));
    EXPECT_FALSE(open_ipoib_frame(frame(link::node_ipoib_qpn), qkey, wire::PKey{0xffff})) << "in another partition";
    EXPECT_TRUE(open_ipoib_frame(frame(link::node_ipoib_qpn), qkey, wire::PKey{0x0001})) << "of a limited member";
    auto damaged = frame(link::node_ipoib_qpn);
    damaged[damaged.size() / 2] ^= std::byte{1};
    EXPECT_FALSE(open_ipoib_frame(damaged, qkey, blue));
    EXPECT_FALSE(open_ipoib_frame(wire::Bytes(damaged).first(40), qkey, blue));
    EXPECT_FALSE(open_ipoib_frame(test::frame_on(test::ways().front(), 32), qkey, blue)) << "on Ethernet";
}

INSTANTIATE_TEST_SUITE_P(Lengths, IpoibFrame, ::testing::Values(60u, 61u, 62u, 63u, 92u));

}  // namespace
}  // namespace verbline::node
