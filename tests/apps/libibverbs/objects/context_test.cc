// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/objects/context.h"

#include "tests/support/verbs_device.h"

namespace verbline::verbs {
namespace {

class Closing : public test::VerbsTest {
protected:
    /// A context of its own with a queue pair for which a WRITE of `qp` is good.
    struct Other {
        ibv_context* context = nullptr;
        ibv_pd* pd = nullptr;
        ibv_cq* cq = nullptr;
        ibv_mr* mr = nullptr;
        ibv_qp* qp = nullptr;
    };
    Other make_other() {
        Other other;
        other.context = ibv_open_device(the_device());
        other.pd = ibv_alloc_pd(other.context);
        other.cq = ibv_create_cq(other.context, 16, nullptr, nullptr, 0);
        other.mr = ibv_reg_mr(other.pd, theirs.data(), theirs.size(), test::all_access);
        auto how = wanted();
        how.send_cq = how.recv_cq = other.cq;
        other.qp = ibv_create_qp(other.pd, &how);
        return other;
    }
    int write(ibv_qp* qp, const Other& to) {
        auto sge = piece();
        ibv_send_wr wr{.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
        wr.wr.rdma = {.remote_addr = reinterpret_cast<std::uint64_t>(theirs.data()), .rkey = to.mr->rkey};
        ibv_send_wr* bad = nullptr;
        return ibv_post_send(qp, &wr, &bad);
    }
    static void destroy(const Other& other) {
        EXPECT_EQ(ibv_destroy_qp(other.qp), 0);
        EXPECT_EQ(ibv_destroy_cq(other.cq), 0);
        EXPECT_EQ(ibv_dereg_mr(other.mr), 0);
        EXPECT_EQ(ibv_dealloc_pd(other.pd), 0);
    }
    static ibv_device* the_device() { return test::the_device(); }

    alignas(4096) std::array<std::byte, 4096> theirs{};
};

TEST_F(Closing, ClosedDeviceRejectsRemoteAccess) {
    auto* const qp = make();
    const auto other = make_other();
    connect(qp, other.qp), connect(other.qp, qp);
    ASSERT_EQ(write(qp, other), 0);
    ASSERT_EQ(completions(1).at(0).status, IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_close_device(other.context), 0);
    memory.fill(std::byte{7});
    ASSERT_EQ(write(qp, other), 0);
    const auto refused = completions(1);
    ASSERT_EQ(refused.size(), 1u);
    EXPECT_EQ(refused[0].status, IBV_WC_RETRY_EXC_ERR);
    EXPECT_EQ(theirs[0], std::byte{0});
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    destroy(other);
}

TEST_F(Closing, ADeviceEndsItsEvents) {
    auto* const qp = make();
    const auto other = make_other();
    connect(qp, other.qp);
    ASSERT_EQ(to_init(other.qp), 0);
    ASSERT_EQ(modify(other.qp, attributes(IBV_QPS_RTR, qp->qp_num), rtr_mask), 0);
    const int events = other.context->async_fd;
    EXPECT_EQ(ibv_close_device(other.context), 0);
    EXPECT_EQ(fcntl(events, F_GETFD), -1) << "the descriptor is closed";
    // The number is somebody else's now: nothing of ours may be written to it.
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe2(pipe.data(), O_NONBLOCK | O_CLOEXEC), 0);
    if (pipe[0] != events && pipe[1] != events) {
        ASSERT_EQ(dup2(pipe[1], events), events);
    }
    ASSERT_EQ(write(qp, other), 0);  // would establish the connection, which is an event
    ASSERT_EQ(completions(1).size(), 1u);
    char byte = 0;
    EXPECT_EQ(::read(pipe[0], &byte, 1), -1);
    for (const int each : {pipe[0], pipe[1], events}) close(each);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    destroy(other);
}

}  // namespace
}  // namespace verbline::verbs
