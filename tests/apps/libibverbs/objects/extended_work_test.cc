// SPDX-License-Identifier: BSD-3-Clause
// ibv_wr_start, ..., ibv_wr_complete.
#include "apps/libibverbs/objects/work_builder.h"
#include "tests/support/verbs_device.h"

namespace verbline::verbs {
namespace {

class WorkCalls : public test::VerbsTest {
protected:
    void make_pair(ibv_qp_type type, std::uint64_t operations) {
        const auto basic = wanted(type);
        ibv_qp_init_attr_ex how{.send_cq = basic.send_cq,
                                .recv_cq = basic.recv_cq,
                                .cap = basic.cap,
                                .qp_type = type,
                                .sq_sig_all = 1,
                                .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                                .pd = pd,
                                .send_ops_flags = operations};
        qp = ibv_create_qp_ex(context, &how);
        ASSERT_NE(qp, nullptr);
        granted = how.cap;
        work = ibv_qp_to_qp_ex(qp);
        ASSERT_NE(work, nullptr);
        connect(qp);
        work->wr_flags = 0;
    }
    void SetUp() override {
        test::VerbsTest::SetUp();
        make_pair(IBV_QPT_RC, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_RDMA_WRITE);
    }
    void TearDown() override {
        EXPECT_EQ(ibv_destroy_qp(qp), 0);
        test::VerbsTest::TearDown();
    }
    void send_one(std::uint64_t id) {
        const auto sge = piece();
        work->wr_id = id;
        ibv_wr_send(work);
        ibv_wr_set_sge(work, sge.lkey, sge.addr, sge.length);
    }
    void expect_nothing_posted() {
        ASSERT_EQ(receive(qp, 50), 0);
        ibv_wr_start(work);
        send_one(51);
        ASSERT_EQ(ibv_wr_complete(work), 0);
        const auto done = completions(2);
        ASSERT_EQ(done.size(), 2u);
        for (const auto& each : done) EXPECT_GE(each.wr_id, 50u) << "of the batch that was refused";
    }
    ibv_qp* qp = nullptr;
    ibv_qp_ex* work = nullptr;
};

TEST_F(WorkCalls, AnAbortedBatchIsNothing) {
    ibv_wr_start(work);
    send_one(1), send_one(2);
    ibv_wr_abort(work);
    expect_nothing_posted();
}

TEST_F(WorkCalls, OneMistakeSpoilsTheBatch) {
    std::vector<ibv_sge> many(granted.max_send_sge + 1, piece());
    std::vector<std::byte> large(granted.max_inline_data + 1);
    const auto batch = [&](auto&& wrong) {
        ibv_wr_start(work);
        send_one(1);
        wrong();
        send_one(2);
        EXPECT_EQ(ibv_wr_complete(work), EINVAL);
    };
    batch([&] { ibv_wr_send(work), ibv_wr_set_sge_list(work, many.size(), many.data()); });
    batch([&] { ibv_wr_send(work), ibv_wr_set_inline_data(work, large.data(), large.size()); });
    batch([&] { ibv_wr_send(work), ibv_wr_set_inline_data(work, large.data(), ~std::size_t{0}); });
    batch([&] { ibv_wr_rdma_read(work, mr->rkey, piece().addr), ibv_wr_set_inline_data(work, large.data(), 8); });
    batch([&] { work->wr_flags = 1u << 15, ibv_wr_send(work), work->wr_flags = 0; });
    batch([&] { ibv_wr_send(work), ibv_wr_set_ud_addr(work, nullptr, 1, 1); });
    expect_nothing_posted();
}

TEST_F(WorkCalls, AFullQueueRefusesTheBatch) {
    ibv_wr_start(work);
    for (unsigned i = 0; i <= granted.max_send_wr; ++i) send_one(i);
    EXPECT_EQ(ibv_wr_complete(work), ENOMEM);
    expect_nothing_posted();
}

TEST_F(WorkCalls, DatagramsNeedAnAddress) {
    ASSERT_EQ(ibv_destroy_qp(qp), 0);
    make_pair(IBV_QPT_UD, IBV_QP_EX_WITH_SEND);
    ibv_wr_start(work);
    send_one(1);
    EXPECT_EQ(ibv_wr_complete(work), EINVAL);
}

TEST_F(WorkCalls, AnEmptyBatchIsNone) {
    ibv_wr_start(work);
    EXPECT_EQ(ibv_wr_complete(work), 0);
}

}  // namespace
}  // namespace verbline::verbs
