// SPDX-License-Identifier: BSD-3-Clause
// How long the helper sleeps, and what ends its sleep.
#include <utility>

#include "datapath/link/ip_gid.h"
#include "datapath/rdma/queue_pair.h"
#include "tests/apps/libibverbs/port/progress_fixture.h"

namespace verbline::verbs {
namespace {

class ProgressSleep : public ProgressTest {
protected:
    static constexpr std::uint8_t timeout = 10;  ///< 4.2 ms; upkeep, which also ends sleep, is every 200 ms

    ProgressSleep() {
        device->change_gids([](link::GidTable& gids) {
            gids.add_interface(1, {});
            gids.add_address(1, link::gid_of(wire::ipv4(10, 0, 0, 1)));
        });
        completions = device->create_cq(16);
        start_helper();
    }

    /// A new queue pair, in the place of the last one, whose timers end.
    void open() {
        pair.reset();
        pair = std::move(*device->create_queue_pair({.type = transport::QueuePairType::rc,
                                                     .pd = device->allocate_pd(),
                                                     .send_completions = completions.get(),
                                                     .receive_completions = completions.get(),
                                                     .send = {.requests = 16, .segments = 1, .inline_bytes = 64}}));
        const rdma::Path path{
            .gid_index = 3,
            .address = {.global = true, .dgid = link::gid_of(wire::ipv4(10, 0, 0, 2)), .hop_limit = 1},
            .mac = {{std::byte{2}, {}, {}, {}, {}, std::byte{2}}}};
        EXPECT_TRUE(pair->init({}));
        EXPECT_TRUE(pair->ready_to_receive({.remote = wire::Qpn{17}, .path = path}));
        EXPECT_TRUE(pair->ready_to_send({.timeout = timeout, .adaptive = false}));
    }

    void await_upkeep() {
        const auto before = link.looks_after.load();
        EXPECT_TRUE(within_two_seconds([&] { return link.looks_after > before; }));
    }
    void await_sleep() {
        const auto before = link.times_wanted.load();
        EXPECT_TRUE(within_two_seconds([&] { return link.times_wanted > before; }));
    }
    void post() {
        std::byte byte{};
        const transport::Segment segment{.address = reinterpret_cast<std::uint64_t>(&byte), .length = 1};
        EXPECT_TRUE(pair->stage({.segments = {&segment, 1}, .flags = transport::send_inline}));
        pair->publish();
        progress->posted(*pair);
    }
    std::size_t sent() {
        progress->hold();
        const auto count = link.sent.size();
        progress->release();
        return count;
    }

    std::unique_ptr<transport::CompletionQueue> completions;
    std::unique_ptr<rdma::QueuePair> pair;
};

TEST_F(ProgressSleep, LastsUntilTheUpkeepWhileTheProgramMakesNoCalls) {
    await_upkeep();
    await_upkeep();
    const auto before = link.times_wanted.load();
    for (int i = 0; i < 3; ++i) await_upkeep();
    EXPECT_LE(link.times_wanted - before, 12U);
}

/// Also if the program makes no other call: it may compute, or wait for something else.
TEST_F(ProgressSleep, EndsInTimeForWhatAPostHasMadeDue) {
    const auto in_time = [&] {
        open();
        await_upkeep();
        await_upkeep();  // the next one is long in coming
        await_sleep();
        const auto before = sent();
        const auto until = monotonic_now() + 100 * millisecond;
        post();
        while (monotonic_now() < until)
            if (sent() >= before + 2) return true;  // the packet, and the same again
        return false;
    };
    EXPECT_TRUE(within_two_seconds(in_time));  // a busy machine may need several
}

}  // namespace
}  // namespace verbline::verbs
