// SPDX-License-Identifier: BSD-3-Clause
#include "control/node/gsi_frame.h"

#include <gtest/gtest.h>

#include "control/cm/message.h"
#include "datapath/wire/deth.h"
#include "tests/datapath/link/frames.h"

namespace verbline::node {
namespace {

using test::Way;

test::ByteVector mad_frame(const Way& way, const mad::MadBuffer& mad, wire::Qpn to = wire::gsi_qpn) {
    const auto envelope = test::envelope_of(way);
    auto frame = test::frame_on(envelope, wire::Deth::size + mad.size(), {.opcode = 0x64, .dest = to});
    const auto at = envelope.size + wire::Bth::size;
    wire::Deth{.qkey = wire::gsi_qkey, .source = wire::gsi_qpn}.emit(
        std::span(frame).subspan(at).first<wire::Deth::size>());
    std::ranges::copy(mad, frame.begin() + static_cast<std::ptrdiff_t>(at + wire::Deth::size));
    test::seal_frame(frame, envelope, 1);
    return frame;
}

struct EveryCarrier : ::testing::TestWithParam<Way> {
    const mad::MadBuffer request = cm::make_mad(wire::CmReq{.local_id = 1}, 2);
    const test::ByteVector frame = mad_frame(GetParam(), request);
};

TEST_P(EveryCarrier, IsOpened) {
    const auto opened = open_gsi_frame(frame);
    ASSERT_TRUE(opened);
    EXPECT_TRUE(std::ranges::equal(opened->mad, request));
    EXPECT_EQ(opened->headers.frame_size(), frame.size());
}

TEST_P(EveryCarrier, IsAnsweredOnTheWayBack) {
    const auto opened = open_gsi_frame(frame);
    const auto back = reversed(opened->headers);
    const auto answer = cm::make_mad(wire::CmRej{.remote_id = 1}, 2);
    test::ByteVector made(back.frame_size());
    write_gsi_frame(back, answer, made);
    const auto there = test::open_frame(frame), here = test::open_frame(made);
    ASSERT_TRUE(here) << "whole, with all checksums";
    EXPECT_EQ(link::source_gid(made, *here), link::destination_gid(frame, *there));
    EXPECT_EQ(link::destination_gid(made, *here), link::source_gid(frame, *there));
    EXPECT_EQ(link::source_lid(made, *here), link::destination_lid(frame, *there));
    EXPECT_EQ(link::destination_lid(made, *here), link::source_lid(frame, *there));
    EXPECT_EQ(link::source_mac(made), wire::Ethernet::parse(frame)->destination);
    EXPECT_TRUE(std::ranges::equal(open_gsi_frame(made)->mad, answer));
}

TEST_P(EveryCarrier, NothingElseIs) {
    EXPECT_FALSE(open_gsi_frame(mad_frame(GetParam(), request, wire::Qpn{17})));
    auto damaged = frame;
    damaged[frame.size() - 20] ^= std::byte{1};
    EXPECT_FALSE(open_gsi_frame(damaged));
    EXPECT_FALSE(open_gsi_frame(test::frame_on(GetParam(), 8)));
    EXPECT_FALSE(open_gsi_frame(wire::Bytes(frame).first(60)));
}

INSTANTIATE_TEST_SUITE_P(, EveryCarrier, ::testing::ValuesIn(test::ways()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace verbline::node
