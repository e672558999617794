// SPDX-License-Identifier: BSD-3-Clause
// Threads that post at the same time: on one queue pair, on several, beside changes of others and forks.
#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <thread>
#include <vector>

#include <sys/wait.h>

#include "tests/support/verbs_device.h"

namespace verbline::verbs {
namespace {

class PostingThreads : public test::VerbsTest {
protected:
    static constexpr unsigned threads = 4;
    static constexpr std::uint64_t each = 1000, outstanding = 8, of_nobody = ~0ull;

    void SetUp() override {
        test::VerbsTest::SetUp();
        for (auto& qp : pairs) {
            qp = make();
            ASSERT_NE(qp, nullptr);
            connect(qp);
        }
    }
    void TearDown() override {
        for (auto* const qp : pairs) EXPECT_EQ(ibv_destroy_qp(qp), 0);
        test::VerbsTest::TearDown();
    }
    ibv_qp* pair_of(std::uint64_t thread) const { return pairs[thread < 2 ? 0 : thread - 1]; }  // two share one

    void post_all(std::uint64_t thread) {
        for (std::uint64_t i = 0; i < each; ++i) {
            // The completion queue has an end.
            while (i - completed[thread] >= outstanding && !over) std::this_thread::yield();
            if (over) return;
            int error = 0;
            while ((error = send(pair_of(thread), thread << 32 | i, IBV_WR_RDMA_WRITE)) == ENOMEM) {
                std::this_thread::yield();
            }
            ASSERT_EQ(error, 0);
        }
    }
    /// Posts from all threads and polls, with `beside` in a thread of its own until all has completed.
    template <class Beside>
    void expect_all_in_order(Beside beside) {
        over = false;
        for (auto& count : completed) count = 0;  // before a thread counts what is outstanding
        std::jthread changing([&] {
            while (!over) beside();
        });
        std::vector<std::jthread> posting;
        for (std::uint64_t thread = 0; thread < threads; ++thread) {
            posting.emplace_back([this, thread] { post_all(thread); });
        }
        std::array<ibv_wc, 8> done{};
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!std::ranges::all_of(completed, [](const auto& count) { return count == each; }) &&
               std::chrono::steady_clock::now() < until) {
            const int n = ibv_poll_cq(cq, static_cast<int>(done.size()), done.data());
            for (const auto& wc : std::span(done).first(static_cast<std::size_t>(n))) {
                if (wc.wr_id == of_nobody) continue;
                EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
                EXPECT_EQ(wc.wr_id & 0xffff'ffff, completed[wc.wr_id >> 32]++) << "of thread " << (wc.wr_id >> 32);
            }
        }
        over = true;
        for (const auto& count : completed) EXPECT_EQ(count, each);
    }

    std::array<ibv_qp*, threads - 1> pairs{};
    std::array<std::atomic<std::uint64_t>, threads> completed{};
    std::atomic<bool> over = false;
};

TEST_F(PostingThreads, LoseNothingAndKeepTheirOrder) {
    expect_all_in_order([] { std::this_thread::yield(); });
}

TEST_F(PostingThreads, MayPostWhileOthersAreMadeAndDestroyed) {
    expect_all_in_order([this] {
        auto* const brief = make();
        ASSERT_NE(brief, nullptr);
        connect(brief);
        EXPECT_EQ(send(brief, of_nobody, IBV_WR_RDMA_WRITE), 0);
        EXPECT_EQ(ibv_destroy_qp(brief), 0);
    });
}

TEST_F(PostingThreads, MayPostDuringForks) {
    expect_all_in_order([this] {
        const pid_t child = fork();
        if (child == 0) _exit(send(pairs[0], of_nobody, IBV_WR_RDMA_WRITE) == EIO ? 0 : 1);
        int status = 0;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
}

}  // namespace
}  // namespace verbline::verbs
