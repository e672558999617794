// SPDX-License-Identifier: BSD-3-Clause
// What becomes of a send that the program posts: who transmits it, and when.
#include <algorithm>
#include <array>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include <rte_pause.h>

#include "apps/libibverbs/port/spin_lock.h"
#include "datapath/link/ip_gid.h"
#include "datapath/rdma/queue_pair.h"
#include "tests/apps/libibverbs/port/progress_fixture.h"

namespace verbline::verbs {
namespace {

class ProgressSend : public ProgressTest {
protected:
    /// As the verbs have it: a datagram queue pair, and the lock of those who post.
    struct Sender {
        std::unique_ptr<rdma::QueuePair> pair;
        link::Envelope envelope;
        SpinLock lock;
    };

    ProgressSend() {
        device->change_gids([](link::GidTable& gids) {
            gids.add_interface(1, {});
            gids.add_address(1, link::gid_of(wire::ipv4(10, 0, 0, 1)));
        });
        completions = device->create_cq(64);
        open(sender);
    }

    void open(Sender& made, transport::CompletionQueue* receives = nullptr) const {
        made.pair = std::move(
            *device->create_queue_pair({.type = transport::QueuePairType::ud,
                                        .send_completions = completions.get(),
                                        .receive_completions = receives != nullptr ? receives : completions.get(),
                                        .send = {.requests = 16, .segments = 1, .inline_bytes = 64}}));
        ASSERT_TRUE(made.pair->init({}));
        ASSERT_TRUE(made.pair->ready_to_receive({}));
        ASSERT_TRUE(made.pair->ready_to_send({}));
        const rdma::Path path{
            .gid_index = 3,
            .address = {.global = true, .dgid = link::gid_of(wire::ipv4(10, 0, 0, 2)), .hop_limit = 1},
            .mac = {{std::byte{2}, {}, {}, {}, {}, std::byte{2}}}};
        made.envelope = *device->envelope(path, made.pair->qpn(), wire::Qpn{17});
    }

    /// As ibv_post_send. False: the queue is full.
    bool post(Sender& from, std::uint32_t mark = 0) {
        const transport::Segment segment{.address = reinterpret_cast<std::uint64_t>(&mark), .length = sizeof mark};
        {
            const std::scoped_lock lock(from.lock);
            if (!from.pair->stage({.segments = {&segment, 1},
                                   .flags = transport::send_inline,
                                   .ud = {.envelope = &from.envelope, .qpn = wire::Qpn{17}}})) {
                return false;
            }
            from.pair->publish();
        }
        progress->posted(*from.pair);
        return true;
    }

    /// What was posted as this packet's payload.
    static std::uint32_t mark_of(const test::Packet& packet) {
        constexpr std::size_t headers = 14 + 20 + 8 + 12 + 8;  // Ethernet, IPv4, UDP, BTH, DETH
        std::uint32_t mark = 0;
        std::memcpy(&mark, rte_pktmbuf_mtod_offset(packet.get(), const std::byte*, headers), sizeof mark);
        return mark;
    }

    std::unique_ptr<transport::CompletionQueue> completions;
    Sender sender;
};

TEST_F(ProgressSend, LeavesBeforeAnythingIsReceived) {
    std::vector<std::size_t> sent_at_look;
    link.on_look = [&] { sent_at_look.push_back(link.sent.size()); };
    ASSERT_TRUE(post(sender));
    EXPECT_EQ(sent_at_look, std::vector<std::size_t>{1}) << "in one round";
    link.on_look = nullptr;
}

TEST_F(ProgressSend, IsLeftToThePollingThread) {
    link.stops = true;
    std::thread polling([&] { progress->drive(); });
    link.entered.acquire();
    ASSERT_TRUE(post(sender));
    EXPECT_TRUE(link.sent.empty()) << "one at a time, and nobody waits";
    link.leave.release();
    polling.join();
    EXPECT_EQ(link.sent.size(), 1u);
}

TEST_F(ProgressSend, LeavesAfterAFork) {
    progress->hold();
    ASSERT_TRUE(post(sender));
    EXPECT_TRUE(link.sent.empty());
    progress->release();
    EXPECT_EQ(link.sent.size(), 1u);
}

TEST_F(ProgressSend, StaysWhereNothingHappensAnyMore) {
    progress->abandon();
    ASSERT_TRUE(post(sender));
    EXPECT_TRUE(link.sent.empty());
}

TEST_F(ProgressSend, DoesNotWaitForTheHelperThatSleeps) {
    start_helper();
    for (unsigned each = 1; each <= 20; ++each) {
        ASSERT_TRUE(within_two_seconds([&] { return link.wants.load(); }));
        ASSERT_TRUE(post(sender));
        progress->hold();
        EXPECT_EQ(link.sent.size(), each);
        progress->release();
    }
}

/// Completion queues are notified while the change of a queue pair keeps the shard out.
TEST_F(ProgressSend, IsMadeUpForWhereAChangeKeepsTheShardOut) {
    unsigned posted = 0;
    const auto received = device->create_cq(16, [&] { posted += post(sender) ? 1 : 0; });
    Sender changed;
    open(changed, received.get());
    ASSERT_TRUE(changed.pair->post(transport::ReceiveRequest{}));
    received->arm(transport::CompletionQueue::Armed::any);
    changed.pair->error();
    EXPECT_EQ(posted, 1u);
    EXPECT_TRUE(link.sent.empty());
    progress->drive();
    EXPECT_EQ(link.sent.size(), 1u);
}

/// No helper runs: what either of the two does not transmit stays.
TEST_F(ProgressSend, IsNotLeftToAThreadThatGoesToSleep) {
    constexpr unsigned turns = 5000;
    std::atomic<unsigned> begun = 0, left = 0;
    std::thread leaving([&] {
        for (unsigned turn = 1; turn <= turns; ++turn) {
            while (begun.load() < turn) rte_pause();
            progress->leave();
            left = turn;
        }
    });
    unsigned lost = 0;
    for (unsigned turn = 1; turn <= turns; ++turn) {
        begun = turn;
        EXPECT_TRUE(post(sender));
        while (left.load() < turn) rte_pause();
        lost += link.sent.empty() ? 1 : 0;
        progress->drive();
        link.sent.clear();
    }
    leaving.join();
    EXPECT_EQ(lost, 0u);
}

/// Beside the helper, a thread that polls, and one that makes and destroys other queue pairs.
TEST_F(ProgressSend, NothingIsLostAmongManyThreads) {
    constexpr std::uint32_t threads = 4, each = 2000, of_nobody = ~0u;
    std::array<Sender, 2> others;
    for (auto& other : others) open(other);
    // By whoever polls: all packets at once would be more than the pool has.
    std::array<std::vector<std::uint32_t>, threads> sent;
    std::size_t count = 0;
    link.on_look = [&] {
        for (const auto& packet : std::exchange(link.sent, {})) {
            const auto mark = mark_of(packet);
            if (mark != of_nobody) sent[mark >> 16].push_back(mark & 0xffff), ++count;
        }
    };
    start_helper();
    std::atomic<bool> over = false;
    std::thread polling([&] {
        while (!over) progress->drive();
    });
    std::thread changing([&] {
        while (!over) {
            Sender brief;
            open(brief);
            post(brief, of_nobody);
        }
    });
    {
        std::vector<std::jthread> posting;
        for (std::uint32_t thread = 0; thread < threads; ++thread) {
            posting.emplace_back([&, thread] {
                auto& from = thread < 2 ? sender : others[thread - 2];  // two share one
                for (std::uint32_t i = 0; i < each; ++i) {
                    while (!post(from, thread << 16 | i)) progress->drive();
                }
            });
        }
    }
    over = true;
    polling.join();
    changing.join();
    // Nobody posts or polls any more: what the helper does not find now is lost.
    EXPECT_TRUE(within_two_seconds([&] {
        progress->hold();
        const bool all = count == std::size_t{threads} * each;
        progress->release();
        return all;
    }));
    progress->hold();
    for (const auto& marks : sent) EXPECT_TRUE(std::ranges::is_sorted(marks)) << "in the order of posting";
    link.on_look = nullptr;
    progress->release();
    for (auto& other : others) other.pair.reset();
}

}  // namespace
}  // namespace verbline::verbs
