// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/memory/fault_guard.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <tuple>

#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "datapath/memory/guarded.h"

// Each case is a process of its own, since the guard is installed once and for good: gtest's "threadsafe" death tests
// start the program anew.

// As the guard calls it: a sanitizer that stands in for sigaction(2) does not know of the guard.
extern "C" int __sigaction(int signal, const struct sigaction* action, struct sigaction* before);

namespace verbline::memory {
namespace {

std::byte* protected_page() {
    static auto* const at = static_cast<std::byte*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    return at;
}

void touch(std::byte* at) {
    *static_cast<volatile std::byte*>(at) = std::byte{1};
}

void handle(int signal, void (*handler)(int), int flags = 0) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(signal, &action, nullptr);
}

bool guard_works() {
    std::array<std::byte, 64> bytes{};
    return !guarded_copy(bytes.data(), protected_page(), 64) && !guarded_copy(protected_page(), bytes.data(), 64);
}

class FaultGuard : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
using FaultGuardDeathTest = FaultGuard;

TEST_F(FaultGuardDeathTest, ForeignFaultsReachTheHandlerBefore) {
    EXPECT_EXIT(
        {
            handle(SIGSEGV, [](int signal) { _exit(signal == SIGSEGV ? 42 : 1); });
            if (!install_fault_guard() || !guard_works()) _exit(2);
            touch(protected_page());
        },
        testing::ExitedWithCode(42), "");
}

TEST_F(FaultGuardDeathTest, WithTheirDetails) {
    EXPECT_EXIT(
        {
            struct sigaction action = {};
            action.sa_flags = SA_SIGINFO;
            action.sa_sigaction = [](int, siginfo_t* info, void* context) {
                _exit(info->si_addr == protected_page() + 5 && context != nullptr ? 43 : 1);
            };
            sigaction(SIGSEGV, &action, nullptr);
            if (!install_fault_guard() || !guard_works()) _exit(2);
            touch(protected_page() + 5);
        },
        testing::ExitedWithCode(43), "");
}

TEST_F(FaultGuardDeathTest, AHandlerThatMendsItIsReturnedFrom) {
    EXPECT_EXIT(
        {
            handle(SIGSEGV, [](int) { mprotect(protected_page(), 4096, PROT_READ | PROT_WRITE); });
            if (!install_fault_guard()) _exit(2);
            touch(protected_page());
            _exit(44);
        },
        testing::ExitedWithCode(44), "");
}

TEST_F(FaultGuardDeathTest, AHandlerForOneFaultHasOnlyOne) {
    EXPECT_EXIT(
        {
            handle(SIGSEGV, [](int) {}, static_cast<int>(SA_RESETHAND));
            if (!install_fault_guard() || !guard_works()) _exit(2);
            touch(protected_page());
        },
        testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(FaultGuardDeathTest, WithoutOneTheProcessDiesOfIt) {
    for (const auto disposition : {SIG_DFL, SIG_IGN}) {
        EXPECT_EXIT(
            {
                handle(SIGSEGV, disposition);
                if (!install_fault_guard() || !guard_works()) _exit(2);
                touch(protected_page());
            },
            testing::KilledBySignal(SIGSEGV), "");
    }
}

TEST_F(FaultGuardDeathTest, ASignalThatSomebodySendsIsNoFault) {
    EXPECT_EXIT(
        {
            handle(SIGSEGV, SIG_DFL);
            if (!install_fault_guard()) _exit(2);
            kill(getpid(), SIGSEGV);
            for (;;) pause();
        },
        testing::KilledBySignal(SIGSEGV), "");
    EXPECT_EXIT(
        {
            handle(SIGBUS, SIG_IGN);
            if (!install_fault_guard()) _exit(2);
            kill(getpid(), SIGBUS);
            _exit(45);
        },
        testing::ExitedWithCode(45), "");
}

TEST_F(FaultGuardDeathTest, InstalledTwiceItPassesOnOnce) {
    EXPECT_EXIT(
        {
            handle(SIGSEGV, [](int) { _exit(46); });
            if (!install_fault_guard()) _exit(2);
            // An application that wraps what it finds, and then we are asked again.
            static struct sigaction ours;
            __sigaction(SIGSEGV, nullptr, &ours);
            struct sigaction theirs = ours;
            theirs.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
                ours.sa_sigaction(signal, info, context);
            };
            __sigaction(SIGSEGV, &theirs, nullptr);
            if (!install_fault_guard() || !guard_works()) _exit(2);
            touch(protected_page());
        },
        testing::ExitedWithCode(46), "");
}

struct sigaction action_of(void (*handler)(int), int flags = 0) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    return action;
}

TEST_F(FaultGuardDeathTest, AHandlerThatChangesIsBehindTheGuard) {
    EXPECT_EXIT(
        {
            handle(SIGSEGV, [](int) { _exit(1); });
            if (!install_fault_guard()) _exit(2);
            const auto action = action_of([](int) { _exit(47); });
            if (!change_fault_handler(SIGSEGV, &action, nullptr) || !guard_works()) _exit(3);
            touch(protected_page());
        },
        testing::ExitedWithCode(47), "");
    EXPECT_EXIT(
        {
            handle(SIGSEGV, [](int) { _exit(1); });
            if (!install_fault_guard()) _exit(2);
            const auto action = action_of(SIG_DFL);
            if (!change_fault_handler(SIGSEGV, &action, nullptr) || !guard_works()) _exit(3);
            touch(protected_page());
        },
        testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(FaultGuardDeathTest, AHandlerForOneFaultHasOneMoreWhenItIsSetAgain) {
    EXPECT_EXIT(
        {
            static int faults = 0;
            static const auto again = action_of([](int) { ++faults; }, static_cast<int>(SA_RESETHAND));
            if (!install_fault_guard() || !change_fault_handler(SIGSEGV, &again, nullptr)) _exit(2);
            kill(getpid(), SIGSEGV);
            struct sigaction spent = again;
            if (!change_fault_handler(SIGSEGV, &again, &spent) || spent.sa_handler != SIG_DFL) _exit(3);
            kill(getpid(), SIGSEGV);
            if (faults != 2) _exit(4);
            kill(getpid(), SIGSEGV);
            for (;;) pause();
        },
        testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(FaultGuardDeathTest, TheHandlerBehindItIsTold) {
    EXPECT_EXIT(
        {
            for (const int signal : {SIGSEGV, SIGBUS}) handle(signal, SIG_DFL);  // a sanitizer has its own
            const auto wanted = action_of(SIG_IGN);
            struct sigaction before = wanted;
            if (change_fault_handler(SIGSEGV, &wanted, &before)) _exit(1);  // there is no guard yet
            if (!install_fault_guard() || change_fault_handler(SIGUSR1, &wanted, &before)) _exit(2);
            if (!change_fault_handler(SIGBUS, &wanted, &before) || before.sa_handler != SIG_DFL) _exit(3);
            if (!change_fault_handler(SIGBUS, nullptr, &before) || before.sa_handler != SIG_IGN) _exit(4);
            if (!change_fault_handler(SIGSEGV, nullptr, &before) || before.sa_handler != SIG_DFL) _exit(5);
            _exit(guard_works() ? 48 : 6);
        },
        testing::ExitedWithCode(48), "");
}

TEST_F(FaultGuardDeathTest, HandlersMayChangeWhileThereAreFaults) {
    EXPECT_EXIT(
        {
            static const auto mend = action_of([](int) { mprotect(protected_page(), 4096, PROT_READ | PROT_WRITE); });
            static const auto mend_too = action_of(mend.sa_handler, SA_NODEFER);
            if (!install_fault_guard() || !change_fault_handler(SIGSEGV, &mend, nullptr)) _exit(1);
            std::atomic<bool> stop = false;
            std::thread changing([&] {
                while (!stop)
                    for (const auto* each : {&mend, &mend_too})
                        std::ignore = change_fault_handler(SIGSEGV, each, nullptr);
            });
            for (int i = 0; i < 2000; ++i) {
                touch(protected_page());
                mprotect(protected_page(), 4096, PROT_NONE);
                if (!guard_works()) _exit(2);
            }
            stop = true;
            changing.join();
            _exit(49);
        },
        testing::ExitedWithCode(49), "");
}

}  // namespace
}  // namespace verbline::memory
