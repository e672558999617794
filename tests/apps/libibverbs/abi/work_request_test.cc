// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/abi/work_request.h"

#include <limits>
#include <map>
#include <set>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace verbline::verbs {
namespace {

using transport::SendOperation;
using transport::SendRequest;

/// A request from an earlier post: nothing of it may show through.
SendRequest used() {
    static const link::Envelope envelope;
    SendRequest request{.id = ~0ull, .operation = SendOperation::fetch_add, .flags = 0xff, .immediate = ~0u};
    request.remote_address = request.compare = request.swap_or_add = ~0ull;
    request.rkey = wire::RKey{~0u};
    request.xrc_srq = ~0u;
    request.ud = {.envelope = &envelope, .qpn = wire::Qpn{~0u}, .qkey = wire::QKey{~0u}};
    return request;
}

struct WorkRequest : testing::Test {
    std::array<ibv_sge, 3> list{{{0x1000, 10, 1}, {0x2000, 20, 2}, {0x3000, 30, 3}}};
    std::array<transport::Segment, 3> room{};
    SendRequest to = used();

    ibv_send_wr request(int opcode) {
        ibv_send_wr wr{};
        wr.wr_id = 42, wr.sg_list = list.data(), wr.num_sge = 2, wr.opcode = static_cast<ibv_wr_opcode>(opcode),
        wr.send_flags = IBV_SEND_SIGNALED;
        return wr;
    }
    int convert(const ibv_send_wr& wr, ibv_qp_type type = IBV_QPT_RC) {
        const auto done = to_send_request(wr, type, room, to);
        return done ? 0 : done.error();
    }
};

TEST_F(WorkRequest, SegmentsAreCopied) {
    ASSERT_EQ(convert(request(IBV_WR_SEND)), 0);
    ASSERT_EQ(to.segments.size(), 2u);
    EXPECT_EQ(to.segments.data(), room.data());
    EXPECT_EQ(to.segments[1].address, 0x2000u);
    EXPECT_EQ(to.segments[1].length, 20u);
    EXPECT_EQ(to.segments[1].lkey, wire::RKey{2});
}

TEST_F(WorkRequest, MoreSegmentsThanRoomAreRefused) {
    auto wr = request(IBV_WR_SEND);
    for (const int count : {4, -1, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
        wr.num_sge = count;
        EXPECT_EQ(convert(wr), EINVAL) << count;
    }
    wr.num_sge = 3;
    EXPECT_EQ(convert(wr), 0);
    wr.num_sge = 0, wr.sg_list = nullptr;
    ASSERT_EQ(convert(wr), 0);
    EXPECT_TRUE(to.segments.empty());
}

TEST_F(WorkRequest, FlagsAreTheSameBits) {
    auto wr = request(IBV_WR_SEND);
    wr.send_flags = IBV_SEND_FENCE | IBV_SEND_SOLICITED | IBV_SEND_INLINE;
    ASSERT_EQ(convert(wr), 0);
    EXPECT_EQ(to.flags, transport::send_fence | transport::send_solicited | transport::send_inline);
    wr.send_flags = IBV_SEND_IP_CSUM;
    EXPECT_EQ(convert(wr), EINVAL) << "there is no checksum to fill in";
}

/// Which operation comes of which opcode, and for whom: the table of ibv_post_send(3), without RAW_PACKET and with the
/// correction that UC has no SEND with invalidate (IBTA volume 1, 9.2 has no opcode for it).
TEST_F(WorkRequest, OpcodesGoWithTypes) {
    const std::set connected{IBV_QPT_UC, IBV_QPT_RC, IBV_QPT_XRC_SEND}, reliable{IBV_QPT_RC, IBV_QPT_XRC_SEND};
    const std::set everyone{IBV_QPT_UD, IBV_QPT_UC, IBV_QPT_RC, IBV_QPT_XRC_SEND};
    const std::map<int, std::pair<SendOperation, std::set<ibv_qp_type>>> expected{
        {IBV_WR_SEND, {SendOperation::send, everyone}},
        {IBV_WR_SEND_WITH_IMM, {SendOperation::send_with_immediate, everyone}},
        {IBV_WR_SEND_WITH_INV, {SendOperation::send_with_invalidate, reliable}},
        {IBV_WR_RDMA_WRITE, {SendOperation::write, connected}},
        {IBV_WR_RDMA_WRITE_WITH_IMM, {SendOperation::write_with_immediate, connected}},
        {IBV_WR_RDMA_READ, {SendOperation::read, reliable}},
        {IBV_WR_ATOMIC_CMP_AND_SWP, {SendOperation::compare_swap, reliable}},
        {IBV_WR_ATOMIC_FETCH_AND_ADD, {SendOperation::fetch_add, reliable}},
        {IBV_WR_ATOMIC_WRITE, {SendOperation::atomic_write, reliable}},
        {IBV_WR_LOCAL_INV, {SendOperation::local_invalidate, connected}},
        {IBV_WR_BIND_MW, {SendOperation::bind_window, connected}},
    };
    ibv_mw window{};
    for (int opcode = 0; opcode < 32; ++opcode) {
        const auto found = expected.find(opcode);
        for (const auto type : {IBV_QPT_UD, IBV_QPT_UC, IBV_QPT_RC, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV,
                                IBV_QPT_RAW_PACKET, IBV_QPT_DRIVER}) {
            auto wr = request(opcode);
            if (opcode == IBV_WR_BIND_MW) wr.bind_mw.mw = &window;
            const bool legal = found != expected.end() && found->second.second.contains(type);
            ASSERT_EQ(convert(wr, type), legal ? 0 : EINVAL) << opcode << " on " << type;
            if (legal) {
                EXPECT_EQ(to.operation, found->second.first);
            }
        }
    }
    EXPECT_EQ(convert(request(-1)), EINVAL);
}

TEST_F(WorkRequest, AWriteHasAnAddressAndAnImmediateInHostOrder) {
    auto wr = request(IBV_WR_RDMA_WRITE_WITH_IMM);
    wr.wr.rdma = {.remote_addr = 0x123456789a, .rkey = 77};
    wr.imm_data = htonl(0xa1b2c3d4);
    ASSERT_EQ(convert(wr), 0);
    EXPECT_EQ(to.id, 42u);
    EXPECT_EQ(to.remote_address, 0x123456789au);
    EXPECT_EQ(to.rkey, wire::RKey{77});
    EXPECT_EQ(to.immediate, 0xa1b2c3d4u);
}

TEST_F(WorkRequest, NothingOfAnEarlierRequestShowsThrough) {
    ASSERT_EQ(convert(request(IBV_WR_SEND)), 0);
    EXPECT_EQ(to.immediate, 0u);
    EXPECT_EQ(to.remote_address, 0u);
    EXPECT_EQ(to.rkey, wire::RKey{});
    EXPECT_EQ(to.compare, 0u);
    EXPECT_EQ(to.swap_or_add, 0u);
    EXPECT_EQ(to.xrc_srq, 0u);
    EXPECT_EQ(to.ud.envelope, nullptr);
    EXPECT_EQ(to.ud.qpn, wire::Qpn{});
}

TEST_F(WorkRequest, AtomicsCarryTheirOperands) {
    auto wr = request(IBV_WR_ATOMIC_CMP_AND_SWP);
    wr.wr.atomic = {.remote_addr = 0x4000, .compare_add = 5, .swap = 6, .rkey = 7};
    ASSERT_EQ(convert(wr), 0);
    EXPECT_EQ(to.remote_address, 0x4000u);
    EXPECT_EQ(to.rkey, wire::RKey{7});
    EXPECT_EQ(to.compare, 5u);
    EXPECT_EQ(to.swap_or_add, 6u);
    wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    ASSERT_EQ(convert(wr), 0);
    EXPECT_EQ(to.compare, 0u);
    EXPECT_EQ(to.swap_or_add, 5u);
}

TEST_F(WorkRequest, DatagramsAndXrcNameTheirDestination) {
    auto wr = request(IBV_WR_SEND);
    wr.wr.ud = {.ah = nullptr, .remote_qpn = 0xff123456, .remote_qkey = 0x80010000};
    ASSERT_EQ(convert(wr, IBV_QPT_UD), 0);
    EXPECT_EQ(to.ud.qpn, wire::Qpn{0x123456}) << "24 bits";
    EXPECT_EQ(to.ud.qkey, wire::QKey{0x80010000});
    wr.qp_type.xrc.remote_srqn = 99;
    ASSERT_EQ(convert(wr, IBV_QPT_XRC_SEND), 0);
    EXPECT_EQ(to.xrc_srq, 99u);
    EXPECT_EQ(to.ud.qpn, wire::Qpn{});
}

TEST_F(WorkRequest, InvalidatesNameAKey) {
    for (const auto opcode : {IBV_WR_SEND_WITH_INV, IBV_WR_LOCAL_INV}) {
        auto wr = request(opcode);
        wr.invalidate_rkey = 0x01020304;
        ASSERT_EQ(convert(wr), 0);
        EXPECT_EQ(to.immediate, 0x01020304u) << "a key, not in network byte order";
    }
}

TEST_F(WorkRequest, LocalInvalidateIgnoresSgList) {
    auto wr = request(IBV_WR_LOCAL_INV);
    wr.sg_list = nullptr, wr.num_sge = 1'000'000;
    ASSERT_EQ(convert(wr), 0);
    EXPECT_TRUE(to.segments.empty());
}

TEST_F(WorkRequest, ABindNamesWindowAndRegion) {
    ibv_mw window{.rkey = 0x100};
    ibv_mr region{.lkey = 0x200, .rkey = 0x201};
    auto wr = request(IBV_WR_BIND_MW);
    wr.bind_mw = {
        .mw = &window,
        .rkey = 0x101,
        .bind_info = {.mr = &region, .addr = 0x5000, .length = 64, .mw_access_flags = IBV_ACCESS_REMOTE_READ}};
    ASSERT_EQ(convert(wr), 0);
    EXPECT_EQ(to.bind.window, wire::RKey{0x100});
    EXPECT_EQ(to.bind.new_key, wire::RKey{0x101});
    EXPECT_EQ(to.bind.region, wire::RKey{0x200});
    EXPECT_EQ(to.bind.address, 0x5000u);
    EXPECT_EQ(to.bind.length, 64u);
    EXPECT_EQ(to.bind.rights, memory::Access::remote_read);
}

TEST_F(WorkRequest, ABindOfNothingUnbinds) {
    ibv_mw window{};
    auto wr = request(IBV_WR_BIND_MW);
    wr.bind_mw.mw = &window;
    EXPECT_EQ(convert(wr), 0);
    EXPECT_EQ(to.bind.region, wire::RKey{});
    wr.bind_mw.bind_info.length = 1;
    EXPECT_EQ(convert(wr), EINVAL) << "one byte of no region";
}

TEST_F(WorkRequest, ABindThatCannotBeIsRefused) {
    ibv_mw window{};
    ibv_mr region{};
    auto wr = request(IBV_WR_BIND_MW);
    wr.bind_mw.bind_info = {.mr = &region, .length = 1};
    EXPECT_EQ(convert(wr), EINVAL) << "no window";
    wr.bind_mw.mw = &window;
    EXPECT_EQ(convert(wr), 0);
    for (const unsigned flag : {IBV_ACCESS_MW_BIND, IBV_ACCESS_ON_DEMAND}) {
        wr.bind_mw.bind_info.mw_access_flags = flag;
        EXPECT_EQ(convert(wr), EINVAL) << "a window cannot have " << flag;
    }
}

TEST_F(WorkRequest, ReceivesHaveAnIdAndSegments) {
    const auto request = to_receive_request({.wr_id = 7, .sg_list = list.data(), .num_sge = 3}, room);
    ASSERT_TRUE(request);
    EXPECT_EQ(request->id, 7u);
    ASSERT_EQ(request->segments.size(), 3u);
    EXPECT_EQ(request->segments[2].lkey, wire::RKey{3});
    EXPECT_EQ(to_receive_request({.sg_list = list.data(), .num_sge = 4}, room).error(), EINVAL);
    EXPECT_EQ(to_receive_request({.sg_list = list.data(), .num_sge = -1}, room).error(), EINVAL);
}

}  // namespace
}  // namespace verbline::verbs
