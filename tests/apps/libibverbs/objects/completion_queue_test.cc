// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/objects/completion_queue.h"

#include <thread>

#include <poll.h>

#include "tests/support/verbs_device.h"

namespace verbline::verbs {
namespace {

class Completions : public test::VerbsTest {
protected:
    void SetUp() override {
        test::VerbsTest::SetUp();
        channel = ibv_create_comp_channel(context);
        ASSERT_NE(channel, nullptr);
        nonblocking(channel->fd);
        told = ibv_create_cq(context, 16, this, channel, 0);
        ASSERT_NE(told, nullptr);
        auto attributes = wanted();
        attributes.send_cq = attributes.recv_cq = told;
        qp = ibv_create_qp(pd, &attributes);
        ASSERT_NE(qp, nullptr);
        connect(qp);
    }
    void TearDown() override {
        if (qp != nullptr) {
            EXPECT_EQ(ibv_destroy_qp(qp), 0);
        }
        if (told != nullptr) {
            EXPECT_EQ(ibv_destroy_cq(told), 0);
        }
        EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
        test::VerbsTest::TearDown();
    }
    void flush(unsigned count) {
        ASSERT_EQ(modify(qp, attributes(IBV_QPS_ERR), IBV_QP_STATE), 0);
        for (unsigned i = 0; i < count; ++i) ASSERT_EQ(receive(qp, i), 0);
    }
    bool event_within(int milliseconds) {
        pollfd waiting{.fd = channel->fd, .events = POLLIN, .revents = 0};
        return poll(&waiting, 1, milliseconds) == 1;
    }
    bool take_event() {
        ibv_cq* from = nullptr;
        void* known = nullptr;
        if (ibv_get_cq_event(channel, &from, &known) != 0) return false;
        EXPECT_EQ(from, told);
        EXPECT_EQ(known, this);
        return true;
    }
    ibv_comp_channel* channel = nullptr;
    ibv_cq* told = nullptr;
    ibv_qp* qp = nullptr;
};

TEST_F(Completions, SizesAndVectors) {
    ibv_device_attr limits{};
    ASSERT_EQ(ibv_query_device(context, &limits), 0);
    for (const int size : {0, -1, limits.max_cqe + 1})
        EXPECT_REFUSED(EINVAL, ibv_create_cq(context, size, nullptr, nullptr, 0));
    for (const int vector : {-1, 1, 1 << 30})
        EXPECT_REFUSED(EINVAL, ibv_create_cq(context, 4, nullptr, nullptr, vector));
    for (const int size : {0, -5, limits.max_cqe + 1}) EXPECT_EQ(ibv_resize_cq(cq, size), EINVAL);
}

TEST_F(Completions, ResizingKeepsWhatWaits) {
    for (unsigned i = 0; i < 8; ++i) ASSERT_EQ(receive(qp, i), 0);
    ASSERT_EQ(ibv_req_notify_cq(told, 0), 0);
    ASSERT_EQ(modify(qp, attributes(IBV_QPS_ERR), IBV_QP_STATE), 0);
    ASSERT_TRUE(event_within(2000));
    ASSERT_TRUE(take_event());
    ibv_ack_cq_events(told, 1);
    EXPECT_EQ(ibv_resize_cq(told, 4), EINVAL) << "less than wait in it";
    EXPECT_GE(told->cqe, 8);
    EXPECT_EQ(ibv_resize_cq(told, 100), 0);
    EXPECT_GE(told->cqe, 100);
    EXPECT_EQ(completions(8, told).size(), 8u);
    EXPECT_EQ(ibv_resize_cq(told, 4), 0);
}

TEST_F(Completions, OneEventForEachArming) {
    EXPECT_FALSE(take_event());
    EXPECT_EQ(errno, EAGAIN);
    ASSERT_EQ(ibv_req_notify_cq(told, 0), 0);
    flush(2);
    ASSERT_TRUE(event_within(2000));
    EXPECT_TRUE(take_event());
    EXPECT_EQ(completions(2, told).size(), 2u);
    EXPECT_FALSE(event_within(20)) << "it was not armed again";
    ibv_ack_cq_events(told, 1);
}

TEST_F(Completions, ErrorsAreSolicited) {
    ASSERT_EQ(ibv_req_notify_cq(told, 1), 0);
    flush(1);
    ASSERT_TRUE(event_within(2000));
    EXPECT_TRUE(take_event());
    ibv_ack_cq_events(told, 1);
}

TEST_F(Completions, DestroyWaitsForUnacknowledgedEvents) {
    ASSERT_EQ(ibv_req_notify_cq(told, 0), 0);
    flush(1);
    ASSERT_TRUE(event_within(2000));
    ASSERT_TRUE(take_event());
    ASSERT_EQ(ibv_destroy_qp(std::exchange(qp, nullptr)), 0);
    std::atomic<bool> gone = false;
    std::thread destroying([&] {
        EXPECT_EQ(ibv_destroy_cq(told), 0);
        gone = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(gone);
    ibv_ack_cq_events(told, 1);
    destroying.join();
    told = nullptr;
}

TEST_F(Completions, DestroyDiscardsUnreadEvents) {
    ASSERT_EQ(ibv_req_notify_cq(told, 0), 0);
    flush(1);
    ASSERT_TRUE(event_within(2000));
    ASSERT_EQ(ibv_destroy_qp(std::exchange(qp, nullptr)), 0);
    ASSERT_EQ(ibv_destroy_cq(std::exchange(told, nullptr)), 0);
    ibv_cq* from = nullptr;
    void* known = nullptr;
    EXPECT_EQ(ibv_get_cq_event(channel, &from, &known), -1);
    EXPECT_EQ(errno, EAGAIN);
}

TEST_F(Completions, ChannelsInUseAreBusy) {
    EXPECT_EQ(ibv_destroy_comp_channel(channel), EBUSY);
}

TEST_F(Completions, ExtendedQueues) {
    ibv_cq_init_attr_ex how{.cqe = 8, .wc_flags = IBV_WC_EX_WITH_CVLAN};
    EXPECT_REFUSED(EOPNOTSUPP, ibv_create_cq_ex(context, &how));
    how.wc_flags = std::uint64_t{1} << 50;
    EXPECT_EQ(ibv_create_cq_ex(context, &how), nullptr);
    how = {.cqe = 8, .comp_mask = 1u << 20};
    EXPECT_EQ(ibv_create_cq_ex(context, &how), nullptr);
    how = {.cqe = 8, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = 1u << 20};
    EXPECT_EQ(ibv_create_cq_ex(context, &how), nullptr);
    how = {.cqe = 8, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN};
    auto* const extended = ibv_create_cq_ex(context, &how);
    ASSERT_NE(extended, nullptr);
    ibv_poll_cq_attr none{};
    EXPECT_EQ(ibv_start_poll(extended, &none), ENOENT);
    none.comp_mask = 1;
    EXPECT_EQ(ibv_start_poll(extended, &none), EINVAL);
    none.comp_mask = 0;
    EXPECT_EQ(ibv_start_poll(extended, &none), ENOENT) << "it is not locked for ever";
    ibv_modify_cq_attr moderation{.attr_mask = 1u << 20};
    EXPECT_EQ(ibv_modify_cq(ibv_cq_ex_to_cq(extended), &moderation), EOPNOTSUPP);
    EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(extended)), 0);
}

TEST_F(Completions, PollOfZeroOrNegativeCountReturnsZero) {
    EXPECT_EQ(ibv_poll_cq(told, 0, nullptr), 0);
    EXPECT_EQ(ibv_poll_cq(told, -3, nullptr), 0);
}

TEST_F(Completions, ManyAtATime) {
    flush(8);
    std::vector<ibv_wc> wcs(32);
    int got = 0;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (got < 8 && std::chrono::steady_clock::now() < until)
        got += ibv_poll_cq(told, 32 - got, &wcs[static_cast<std::size_t>(got)]);
    ASSERT_EQ(got, 8);
    for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(wcs[i].wr_id, i);
}

}  // namespace
}  // namespace verbline::verbs
