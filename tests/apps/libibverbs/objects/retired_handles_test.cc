// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/objects/retired_handles.h"

#include "tests/support/verbs_device.h"

namespace verbline::verbs {
namespace {

class Retired : public test::VerbsTest {
protected:
    void SetUp() override {
        test::VerbsTest::SetUp();
        qp = make(IBV_QPT_UD);
        connect(qp);
    }
    ibv_ah* make_handle() {
        auto path = own_path();
        return ibv_create_ah(pd, &path);
    }
    int send_to(ibv_ah* handle) {
        auto sge = piece();
        ibv_send_wr wr{.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
        wr.wr.ud = {.ah = handle, .remote_qpn = qp->qp_num, .remote_qkey = 0x1111};
        ibv_send_wr* bad = nullptr;
        return ibv_post_send(qp, &wr, &bad);
    }
    void stop() { ASSERT_EQ(modify(qp, attributes(IBV_QPS_SQD), IBV_QP_STATE), 0); }
    static std::size_t kept() { return RetiredHandles::get().kept(); }

    ibv_qp* qp = nullptr;
};

TEST_F(Retired, HandleWithoutReferencesGoesAtOnce) {
    EXPECT_EQ(ibv_destroy_ah(make_handle()), 0);
    EXPECT_EQ(kept(), 0u);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

TEST_F(Retired, HandleOfAWaitingRequestIsKeptUntilItIsSent) {
    stop();
    auto* const handle = make_handle();
    ASSERT_EQ(receive(qp), 0);
    ASSERT_EQ(send_to(handle), 0);
    EXPECT_EQ(ibv_destroy_ah(handle), 0);
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(ibv_destroy_ah(make_handle()), 0);
    EXPECT_EQ(kept(), 1001u) << "in the order of their destruction";
    ASSERT_EQ(modify(qp, attributes(IBV_QPS_RTS), IBV_QP_STATE), 0);
    const auto done = completions(2);
    ASSERT_EQ(done.size(), 2u);
    for (const auto& each : done) EXPECT_EQ(each.status, IBV_WC_SUCCESS);
    EXPECT_EQ(kept(), 0u);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
}

TEST_F(Retired, HandlesOfAQueuePairThatIsGoneGoWithIt) {
    stop();
    auto* const handle = make_handle();
    ASSERT_EQ(send_to(handle), 0);
    EXPECT_EQ(ibv_destroy_ah(handle), 0);
    EXPECT_EQ(kept(), 1u);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    EXPECT_EQ(kept(), 0u);
}

}  // namespace
}  // namespace verbline::verbs
