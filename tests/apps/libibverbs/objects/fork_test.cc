// SPDX-License-Identifier: BSD-3-Clause
// Children of a program with an open device.
#include <atomic>
#include <functional>
#include <thread>

#include <poll.h>
#include <sys/wait.h>

#include "tests/support/verbs_device.h"

namespace verbline::verbs {
namespace {

class Fork : public test::VerbsTest {
protected:
    void SetUp() override {
        test::VerbsTest::SetUp();
        qp = make();
        ASSERT_NE(qp, nullptr);
        connect(qp);
    }
    void TearDown() override {
        EXPECT_EQ(ibv_destroy_qp(qp), 0);
        test::VerbsTest::TearDown();
    }
    /// What the child gives, from 0 (all well) to 99; 100: it crashed or did not end within ten seconds.
    static int in_child(const std::function<int()>& act) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(10);
            _exit(act());
        }
        int status = 0;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
    }
    void expect_traffic() {
        ASSERT_EQ(receive(qp, 1), 0);
        ASSERT_EQ(send(qp, 2), 0);
        const auto done = completions(2);
        ASSERT_EQ(done.size(), 2u);
        for (const auto& each : done) EXPECT_EQ(each.status, IBV_WC_SUCCESS);
    }
    /// The number of the first thing that is not as it should be.
    int inherited_is_dead() {
        ibv_port_attr port{};
        ibv_async_event event{};
        ibv_wc wc{};
        ibv_qp_attr attr{};
        ibv_qp_init_attr made{};
        const auto null_with = [](int error, const auto* got) { return got == nullptr && errno == error; };
        const bool as_it_should_be[] = {
            ibv_query_port(context, 1, &port) == EIO,
            null_with(EIO, ibv_alloc_pd(context)),
            null_with(EIO, ibv_create_cq(context, 4, nullptr, nullptr, 0)),
            null_with(EIO, ibv_reg_mr(pd, memory.data(), 64, 0)),
            null_with(EIO, ibv_alloc_mw(pd, IBV_MW_TYPE_1)),
            null_with(EIO, ibv_create_comp_channel(context)),
            null_with(EIO, make()),
            modify(qp, attributes(IBV_QPS_ERR), IBV_QP_STATE) == EIO,
            ibv_query_qp(qp, &attr, IBV_QP_STATE, &made) == EIO,
            send(qp) == EIO,
            receive(qp) == EIO,
            ibv_poll_cq(cq, 1, &wc) == 0,
            ibv_req_notify_cq(cq, 0) == 0,
            ibv_get_async_event(context, &event) == -1 && errno == EIO,
            ibv_destroy_qp(qp) == 0,
            ibv_dereg_mr(mr) == 0,
            ibv_destroy_cq(cq) == 0,
            ibv_dealloc_pd(pd) == 0,
            ibv_close_device(context) == 0,
        };
        int number = 1;
        for (const bool good : as_it_should_be) {
            if (!good) return number;
            ++number;
        }
        return 0;
    }
    ibv_qp* qp = nullptr;
};

TEST_F(Fork, InheritedObjectsFailInChildAndWorkInParent) {
    expect_traffic();
    EXPECT_EQ(in_child([this] { return inherited_is_dead(); }), 0);
    expect_traffic();
}

TEST_F(Fork, CompletionsOfTheParentAreNotTheChilds) {
    ASSERT_EQ(receive(qp, 1), 0);
    ASSERT_EQ(modify(qp, attributes(IBV_QPS_ERR), IBV_QP_STATE), 0);
    EXPECT_EQ(in_child([this] {
                  ibv_wc wc{};
                  return ibv_poll_cq(cq, 1, &wc);
              }),
              0);
    EXPECT_EQ(completions(1).size(), 1u);
}

TEST_F(Fork, AChildOpensADeviceOfItsOwn) {
    const auto guid = ibv_get_device_guid(test::the_device());
    EXPECT_EQ(in_child([&] {
                  auto* const own = ibv_open_device(test::the_device());
                  if (own == nullptr) return 1;
                  context = own;
                  pd = ibv_alloc_pd(context);
                  cq = ibv_create_cq(context, 16, nullptr, nullptr, 0);
                  if (pd == nullptr || cq == nullptr) return 2;
                  mr = ibv_reg_mr(pd, memory.data(), memory.size(), test::all_access);
                  if (mr == nullptr) return 3;
                  qp = make();
                  if (qp == nullptr) return 4;
                  connect(qp);
                  if (receive(qp, 1) != 0 || send(qp, 2) != 0) return 5;
                  if (completions(2).size() != 2) return 6;
                  if (ibv_get_device_guid(test::the_device()) == guid) return 7;
                  return HasFailure() ? 8 : 0;
              }),
              0);
    expect_traffic();
}

TEST_F(Fork, WhileThreadsPollPostAndMake) {
    std::atomic<bool> stop = false;
    std::atomic<unsigned> rounds = 0;
    std::thread polling([&] {
        ibv_wc wc{};
        while (!stop) ibv_poll_cq(cq, 1, &wc), ++rounds;
    });
    std::thread posting([&] {
        while (!stop) receive(qp), send(qp);
    });
    std::thread making([&] {
        while (!stop) {
            auto* const other = make();
            if (other != nullptr) ibv_destroy_qp(other);
        }
    });
    for (int i = 0; i < 20; ++i) {
        const auto before = rounds.load();
        EXPECT_EQ(in_child([this] { return inherited_is_dead(); }), 0) << i;
        while (rounds.load() == before) std::this_thread::yield();
    }
    stop = true;
    polling.join(), posting.join(), making.join();
}

TEST_F(Fork, SeveralGenerations) {
    EXPECT_EQ(in_child([this] {
                  if (inherited_is_dead() != 0) return 1;
                  return in_child([this] { return inherited_is_dead(); });
              }),
              0);
    expect_traffic();
}

}  // namespace
}  // namespace verbline::verbs
