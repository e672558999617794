// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/objects/shared_receive_queue.h"

#include <array>

#include "tests/support/verbs_device.h"

namespace verbline::verbs {
namespace {

class SharedQueues : public test::VerbsTest {
protected:
    int post(ibv_srq* srq, std::uint64_t id, int segments = 1) {
        std::array<ibv_sge, 8> pieces;
        pieces.fill(piece(4096, 1024));
        ibv_recv_wr wr{.wr_id = id, .next = nullptr, .sg_list = pieces.data(), .num_sge = segments}, *bad = nullptr;
        return ibv_post_srq_recv(srq, &wr, &bad);
    }
    ibv_srq* make_srq(std::uint32_t requests = 4) {
        ibv_srq_init_attr how{.srq_context = this, .attr = {.max_wr = requests, .max_sge = 1}};
        return ibv_create_srq(pd, &how);
    }
};

TEST_F(SharedQueues, SizesThatCannotBe) {
    ibv_device_attr limits{};
    ASSERT_EQ(ibv_query_device(context, &limits), 0);
    for (const auto& [wr, sge] :
         {std::pair(0, 1), std::pair(limits.max_srq_wr + 1, 1), std::pair(4, limits.max_srq_sge + 1)}) {
        ibv_srq_init_attr how{.attr = {.max_wr = static_cast<unsigned>(wr), .max_sge = static_cast<unsigned>(sge)}};
        EXPECT_REFUSED(EINVAL, ibv_create_srq(pd, &how));
    }
}

TEST_F(SharedQueues, FullAndWrongRequests) {
    auto* const srq = make_srq();
    ASSERT_NE(srq, nullptr);
    ibv_srq_attr is{};
    ASSERT_EQ(ibv_query_srq(srq, &is), 0);
    EXPECT_EQ(post(srq, 0, static_cast<int>(is.max_sge) + 1), EINVAL);
    EXPECT_EQ(post(srq, 0, -1), EINVAL);
    for (unsigned i = 0; i < is.max_wr; ++i) EXPECT_EQ(post(srq, i), 0);
    EXPECT_EQ(post(srq, 9), ENOMEM);
    ibv_srq_attr to{.srq_limit = is.max_wr + 1};
    EXPECT_EQ(ibv_modify_srq(srq, &to, IBV_SRQ_LIMIT), EINVAL);
    EXPECT_EQ(ibv_modify_srq(srq, &to, IBV_SRQ_MAX_WR), EOPNOTSUPP);
    EXPECT_EQ(ibv_modify_srq(srq, &to, 1 << 10), EINVAL);
    std::uint32_t number = 0;
    EXPECT_EQ(ibv_get_srq_num(srq, &number), EINVAL) << "only XRC queues have one";
    EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

TEST_F(SharedQueues, TheLimitIsReportedOnce) {
    auto* const srq = make_srq();
    auto how = wanted();
    how.srq = srq;
    auto* const qp = ibv_create_qp(pd, &how);
    ASSERT_NE(qp, nullptr);
    connect(qp);
    EXPECT_EQ(receive(qp), EINVAL) << "it receives from the shared queue";
    EXPECT_EQ(ibv_destroy_srq(srq), EBUSY);
    nonblocking(context->async_fd);
    for (unsigned i = 0; i < 4; ++i) ASSERT_EQ(post(srq, i), 0);
    ibv_srq_attr limit{.srq_limit = 3};
    ASSERT_EQ(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
    for (unsigned i = 0; i < 3; ++i) ASSERT_EQ(send(qp), 0);
    EXPECT_EQ(completions(6).size(), 6u);
    ibv_async_event event{};
    while (ibv_get_async_event(context, &event) == 0 && event.event_type == IBV_EVENT_COMM_EST)
        ibv_ack_async_event(&event);
    EXPECT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    EXPECT_EQ(event.element.srq, srq);
    ibv_ack_async_event(&event);
    EXPECT_EQ(ibv_get_async_event(context, &event), -1);
    EXPECT_EQ(errno, EAGAIN);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

TEST_F(SharedQueues, ExtendedAttributes) {
    ibv_srq_init_attr_ex how{.attr = {.max_wr = 4, .max_sge = 1},
                             .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
                             .srq_type = IBV_SRQT_TM,
                             .pd = pd};
    EXPECT_REFUSED(EOPNOTSUPP, ibv_create_srq_ex(context, &how));
    how.srq_type = static_cast<ibv_srq_type>(9);
    EXPECT_REFUSED(EOPNOTSUPP, ibv_create_srq_ex(context, &how));
    how.srq_type = IBV_SRQT_XRC;
    EXPECT_REFUSED(EINVAL, ibv_create_srq_ex(context, &how));
    how.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
    EXPECT_REFUSED(EINVAL, ibv_create_srq_ex(context, &how));
}

TEST_F(SharedQueues, XrcDomains) {
    ibv_xrcd_init_attr how{.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = 0};
    EXPECT_REFUSED(EINVAL, ibv_open_xrcd(context, &how));
    how.oflags = O_CREAT | O_TRUNC;
    EXPECT_REFUSED(EINVAL, ibv_open_xrcd(context, &how));
    how = {.comp_mask = 0, .fd = -1, .oflags = O_CREAT};
    EXPECT_REFUSED(EINVAL, ibv_open_xrcd(context, &how));
    how = {.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = 12345, .oflags = O_CREAT};
    EXPECT_REFUSED(EBADF, ibv_open_xrcd(context, &how));
    how.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    how.oflags = 0;
    EXPECT_REFUSED(EAGAIN, ibv_open_xrcd(context, &how));
    how.oflags = O_CREAT;
    auto *const one = ibv_open_xrcd(context, &how), *const same = ibv_open_xrcd(context, &how);
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(one, same) << "of the same file";
    how.oflags = O_CREAT | O_EXCL;
    EXPECT_REFUSED(EINVAL, ibv_open_xrcd(context, &how));
    close(how.fd);
    ibv_srq_init_attr_ex queue{
        .attr = {.max_wr = 4, .max_sge = 1},
        .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
        .srq_type = IBV_SRQT_XRC,
        .pd = pd,
        .xrcd = one,
        .cq = cq};
    auto* const srq = ibv_create_srq_ex(context, &queue);
    ASSERT_NE(srq, nullptr);
    std::uint32_t number = 0;
    EXPECT_EQ(ibv_get_srq_num(srq, &number), 0);
    EXPECT_EQ(ibv_close_xrcd(same), 0);
    EXPECT_EQ(ibv_close_xrcd(one), EBUSY);
    EXPECT_EQ(ibv_destroy_cq(cq), EBUSY);
    EXPECT_EQ(ibv_destroy_srq(srq), 0);
    EXPECT_EQ(ibv_close_xrcd(one), 0);
}

}  // namespace
}  // namespace verbline::verbs
