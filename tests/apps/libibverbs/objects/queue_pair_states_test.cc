// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/verbs_device.h"

namespace verbline::verbs {
namespace {

class States : public test::VerbsTest {
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
    ibv_qp_attr query() {
        ibv_qp_attr a{};
        ibv_qp_init_attr made{};
        EXPECT_EQ(ibv_query_qp(qp, &a, IBV_QP_STATE, &made), 0);
        return a;
    }
    /// The way to RTR with one thing wrong; the state must be what it was.
    void refused(auto&& spoil, int error = EINVAL) {
        auto a = attributes(IBV_QPS_RTR, qp->qp_num);
        spoil(a);
        EXPECT_EQ(modify(qp, a, rtr_mask), error);
        EXPECT_EQ(query().qp_state, IBV_QPS_INIT);
    }
    ibv_qp* qp = nullptr;
};

TEST_F(States, WrongStepsAreRefused) {
    for (const auto to : {IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_SQE, static_cast<ibv_qp_state>(99)}) {
        EXPECT_EQ(modify(qp, attributes(to), IBV_QP_STATE), EINVAL) << to;
    }
    EXPECT_EQ(modify(qp, attributes(IBV_QPS_INIT), IBV_QP_STATE), EINVAL) << "attributes are missing";
    EXPECT_EQ(modify(qp, attributes(IBV_QPS_INIT), init_mask | IBV_QP_SQ_PSN), EINVAL) << "one too many";
    EXPECT_EQ(modify(qp, attributes(IBV_QPS_INIT), init_mask | 1 << 30), EINVAL);
    auto a = attributes(IBV_QPS_INIT);
    a.port_num = 2;
    EXPECT_EQ(modify(qp, a, init_mask), EINVAL);
    a = attributes(IBV_QPS_INIT);
    a.pkey_index = 1;
    EXPECT_EQ(modify(qp, a, init_mask), EINVAL);
    EXPECT_EQ(query().qp_state, IBV_QPS_RESET);
}

TEST_F(States, WrongPathsAreRefused) {
    ASSERT_EQ(to_init(qp), 0);
    refused([](auto& a) { a.ah_attr.is_global = 0; });
    refused([](auto& a) { a.ah_attr.grh.sgid_index = 200; });
    refused([](auto& a) { a.ah_attr.grh.sgid_index = 255; });
    refused([](auto& a) { a.ah_attr.port_num = 0; });
    refused([](auto& a) { a.path_mtu = static_cast<ibv_mtu>(0); });
    refused([](auto& a) { a.path_mtu = static_cast<ibv_mtu>(6); });
    refused([](auto& a) { a.dest_qp_num = 1u << 24; });
    refused([](auto& a) { a.max_dest_rd_atomic = 255; });
    refused([](auto& a) { a.min_rnr_timer = 32; });
    EXPECT_EQ(modify(qp, attributes(IBV_QPS_RTR, qp->qp_num), rtr_mask), 0) << "and with nothing wrong";
    auto a = attributes(IBV_QPS_RTS);
    a.timeout = 32;
    EXPECT_EQ(modify(qp, a, rts_mask), EINVAL);
    a = attributes(IBV_QPS_RTS);
    a.retry_cnt = 8;
    EXPECT_EQ(modify(qp, a, rts_mask), EINVAL);
}

TEST_F(States, ResetLeavesNothingAndStartsAnew) {
    connect(qp);
    ASSERT_EQ(receive(qp, 1), 0);
    ASSERT_EQ(modify(qp, attributes(IBV_QPS_ERR), IBV_QP_STATE), 0);
    ASSERT_EQ(modify(qp, attributes(IBV_QPS_RESET), IBV_QP_STATE), 0);
    ibv_wc wc{};
    EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0) << "completions of before";
    connect(qp);
    ASSERT_EQ(receive(qp, 2), 0);
    ASSERT_EQ(send(qp, 3), 0);
    const auto done = completions(2);
    ASSERT_EQ(done.size(), 2u);
    for (const auto& each : done) EXPECT_EQ(each.status, IBV_WC_SUCCESS) << each.wr_id;
}

TEST_F(States, DrainedQueuesSayAndGoOn) {
    connect(qp);
    nonblocking(context->async_fd);
    auto a = attributes(IBV_QPS_SQD);
    a.en_sqd_async_notify = 1;
    ASSERT_EQ(modify(qp, a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
    EXPECT_EQ(query().qp_state, IBV_QPS_SQD);
    ASSERT_EQ(receive(qp, 1), 0);
    EXPECT_EQ(send(qp, 2), 0) << "posted, and kept";
    ibv_async_event event{};
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    int got = -1;
    while ((got = ibv_get_async_event(context, &event)) != 0 && std::chrono::steady_clock::now() < until) {
        ibv_wc wc{};
        EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
    }
    ASSERT_EQ(got, 0);
    EXPECT_EQ(event.event_type, IBV_EVENT_SQ_DRAINED);
    EXPECT_EQ(event.element.qp, qp);
    ibv_ack_async_event(&event);
    EXPECT_EQ(query().sq_draining, 0);
    ASSERT_EQ(modify(qp, attributes(IBV_QPS_RTS), IBV_QP_STATE), 0);
    EXPECT_EQ(completions(2).size(), 2u);
}

TEST_F(States, AFalseClaimOfTheStateIsRefused) {
    connect(qp);
    auto a = attributes(IBV_QPS_RTS);
    a.cur_qp_state = static_cast<ibv_qp_state>(50);
    EXPECT_EQ(modify(qp, a, IBV_QP_STATE | IBV_QP_CUR_STATE), EINVAL);
    a.cur_qp_state = IBV_QPS_INIT;
    EXPECT_EQ(modify(qp, a, IBV_QP_STATE | IBV_QP_CUR_STATE), EINVAL);
}

}  // namespace
}  // namespace verbline::verbs
