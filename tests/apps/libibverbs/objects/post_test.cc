// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include "tests/support/verbs_device.h"

namespace verbline::verbs {
namespace {

class Posting : public test::VerbsTest {
protected:
    void SetUp() override {
        test::VerbsTest::SetUp();
        qp = make();
        ASSERT_NE(qp, nullptr);
    }
    void TearDown() override {
        EXPECT_EQ(ibv_destroy_qp(qp), 0);
        test::VerbsTest::TearDown();
    }
    int post(const ibv_send_wr& like, ibv_qp* to = nullptr) {
        auto wr = like;
        bad = nullptr;
        const int error = ibv_post_send(to != nullptr ? to : qp, &wr, &bad);
        EXPECT_EQ(bad, error != 0 ? &wr : nullptr);
        return error;
    }
    ibv_send_wr request(ibv_wr_opcode opcode = IBV_WR_SEND) {
        ibv_send_wr wr{};
        wr.sg_list = pieces.data();
        wr.num_sge = 1;
        wr.opcode = opcode;
        return wr;
    }
    ibv_qp* qp = nullptr;
    ibv_send_wr* bad = nullptr;
    std::array<ibv_sge, 80> pieces{};
};

TEST_F(Posting, PostFailsInWrongStates) {
    EXPECT_EQ(send(qp), EINVAL);
    EXPECT_EQ(receive(qp), EINVAL);
    ASSERT_EQ(to_init(qp), 0);
    EXPECT_EQ(send(qp), EINVAL);
    EXPECT_EQ(receive(qp), 0) << "receives may be posted from INIT on";
}

TEST_F(Posting, WhatTheErrorStateTakesIsFlushed) {
    connect(qp);
    ASSERT_EQ(modify(qp, attributes(IBV_QPS_ERR), IBV_QP_STATE), 0);
    EXPECT_EQ(send(qp, 1), 0);
    EXPECT_EQ(receive(qp, 2), 0);
    const auto done = completions(2);
    ASSERT_EQ(done.size(), 2u);
    for (const auto& each : done) EXPECT_EQ(each.status, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(Posting, SegmentsAndInlineDataAreCounted) {
    connect(qp);
    pieces.fill(piece());
    auto wr = request();
    for (const int count : {static_cast<int>(granted.max_send_sge) + 1, 65, -1, 1 << 30}) {
        wr.num_sge = count;
        EXPECT_EQ(post(wr), EINVAL) << count;
    }
    wr = request();
    wr.send_flags = IBV_SEND_INLINE;
    pieces[0].length = granted.max_inline_data + 1;
    EXPECT_EQ(post(wr), EINVAL);
    pieces[0].length = ~0u;
    EXPECT_EQ(post(wr), EINVAL);
    wr = request(IBV_WR_RDMA_READ);
    pieces[0] = piece();
    wr.send_flags = IBV_SEND_INLINE;
    EXPECT_EQ(post(wr), EINVAL) << "nothing to be inlined in what is to be read";
    ibv_recv_wr receive_wr{
        .wr_id = 0, .next = nullptr, .sg_list = pieces.data(), .num_sge = static_cast<int>(granted.max_recv_sge) + 1},
        *bad_receive = nullptr;
    EXPECT_EQ(ibv_post_recv(qp, &receive_wr, &bad_receive), EINVAL);
    EXPECT_EQ(bad_receive, &receive_wr);
}

TEST_F(Posting, OpcodesAndFlagsThatAreNone) {
    connect(qp);
    pieces[0] = piece();
    for (const auto opcode :
         {IBV_WR_TSO, IBV_WR_DRIVER1, static_cast<ibv_wr_opcode>(12), static_cast<ibv_wr_opcode>(-1)}) {
        EXPECT_EQ(post(request(opcode)), EINVAL) << opcode;
    }
    auto wr = request();
    wr.send_flags = 1u << 20;
    EXPECT_EQ(post(wr), EINVAL);
    wr = request(IBV_WR_BIND_MW);
    EXPECT_EQ(post(wr), EINVAL) << "no window";
}

TEST_F(Posting, AFullQueueTakesNoMore) {
    ASSERT_EQ(to_init(qp), 0);
    ibv_qp_attr a{};
    ibv_qp_init_attr made{};
    ASSERT_EQ(ibv_query_qp(qp, &a, 0, &made), 0);
    for (unsigned i = 0; i < made.cap.max_recv_wr; ++i) EXPECT_EQ(receive(qp), 0) << i;
    EXPECT_EQ(receive(qp), ENOMEM);
}

TEST_F(Posting, RequestsBeforeTheBadOneArePosted) {
    connect(qp);
    ASSERT_EQ(receive(qp, 1), 0);
    pieces.fill(piece());
    auto last = request(), wrong = request(), first = request();
    wrong.num_sge = 65;
    wrong.next = &last;
    first.wr_id = 2;
    first.next = &wrong;
    EXPECT_EQ(ibv_post_send(qp, &first, &bad), EINVAL);
    EXPECT_EQ(bad, &wrong);
    EXPECT_EQ(completions(3).size(), 2u) << "the first one, and its receive";
}

TEST_F(Posting, KeysThatAreNoneAreCompletions) {
    connect(qp);
    ASSERT_EQ(receive(qp, 1), 0);
    pieces[0] = piece();
    pieces[0].lkey ^= 0xff00;
    EXPECT_EQ(post(request()), 0);
    const auto done = completions(2);
    ASSERT_GE(done.size(), 1u);
    EXPECT_EQ(done[0].status, IBV_WC_LOC_PROT_ERR);
}

TEST_F(Posting, DatagramsNeedAnAddress) {
    auto* const ud = make(IBV_QPT_UD);
    connect(ud);
    pieces[0] = piece();
    EXPECT_EQ(post(request(), ud), EINVAL);
    EXPECT_EQ(post(request(IBV_WR_RDMA_WRITE), ud), EINVAL);
    EXPECT_EQ(ibv_destroy_qp(ud), 0);
}

TEST_F(Posting, WindowsOfTheOtherType) {
    connect(qp);
    auto *const one = ibv_alloc_mw(pd, IBV_MW_TYPE_1), *const two = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
    ASSERT_TRUE(one != nullptr && two != nullptr);
    ibv_mw_bind bind{};
    bind.bind_info = {.mr = mr, .addr = piece().addr, .length = 64, .mw_access_flags = IBV_ACCESS_REMOTE_READ};
    EXPECT_EQ(ibv_bind_mw(qp, two, &bind), EINVAL);
    bind.bind_info.mw_access_flags = 1u << 31;
    EXPECT_EQ(ibv_bind_mw(qp, one, &bind), EINVAL);
    bind.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_READ;
    bind.bind_info.mr = nullptr;
    EXPECT_NE(ibv_bind_mw(qp, one, &bind), 0);
    bind.bind_info.mr = mr;
    const auto key = one->rkey;
    ASSERT_EQ(ibv_bind_mw(qp, one, &bind), 0);
    EXPECT_NE(one->rkey, key);
    const auto done = completions(1);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].opcode, IBV_WC_BIND_MW);
    EXPECT_EQ(done[0].status, IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_dereg_mr(mr), EBUSY) << "a window is bound to it";
    EXPECT_EQ(ibv_dealloc_mw(one), 0);
    EXPECT_EQ(ibv_dealloc_mw(two), 0);
}

}  // namespace
}  // namespace verbline::verbs
