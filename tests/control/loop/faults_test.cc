// SPDX-License-Identifier: BSD-3-Clause
// The event loop while system calls and allocations fail.
#include "tests/support/faults.h"

#include <memory>

#include <sys/eventfd.h>

#include <gtest/gtest.h>

#include "control/loop/loop.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::control {
namespace {

TEST(LoopFaults, ALoopIsMadeWhollyOrNotAtAll) {
    const auto tally = test::expect_survives_faults("loop: create", [] -> test::Outcome {
        auto loop = Loop::create();
        if (!loop) return loop.error();
        return {};
    });
    EXPECT_GE(tally.errors, 6u) << "epoll_create1, eventfd and epoll_ctl";
}

TEST(LoopFaults, EventsTimersAndTasksComeAllTheSame) {
    const auto tally = test::expect_survives_faults("loop: events, timers, tasks", [] -> test::Outcome {
        auto loop = Loop::create();
        if (!loop) return loop.error();
        const FileDescriptor event(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
        if (!event) return Error{errno, "no eventfd for the test itself"};
        bool readable = false, fired = false, posted = false;
        const auto watch = (*loop)->watch(event.get(), [&](std::uint32_t) { readable = true; });
        if (!watch) return watch.error();
        const auto timer = (*loop)->after(0, [&] { fired = true; });
        (*loop)->post([&] { posted = true; });
        // An interrupted wait ends a round early; what is lost is lost for good.
        for (int round = 0; round < 3; ++round) (*loop)->run_once(0);
        EXPECT_TRUE(readable && fired && posted);
        return {};
    });
    EXPECT_GE(tally.recovered, 1u);
}

TEST(LoopFaults, APostedTaskWakesALoopThatSleeps) {
    test::expect_survives_faults("loop: wake", [] -> test::Outcome {
        auto loop = Loop::create();
        if (!loop) return loop.error();
        (*loop)->post([] {});
        const auto began = (*loop)->now();
        (*loop)->run_once(10 * second);
        EXPECT_LT((*loop)->now() - began, second) << "the wake-up was lost";
        return {};
    });
}

}  // namespace
}  // namespace verbline::control
