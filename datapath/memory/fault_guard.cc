// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/memory/fault_guard.h"

#include <array>
#include <atomic>
#include <bit>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "datapath/memory/guarded.h"

// The C library's internal name, which libraries that interpose sigaction (`change_fault_handler`) do not replace.
extern "C" int __sigaction(int signal, const struct sigaction* action, struct sigaction* before);

namespace verbline::memory {
namespace {

/// A handler that others read in signal handlers while it changes (a sequence lock). One thread at a time writes.
class SharedAction {
public:
    struct sigaction read() const noexcept {
        for (;;) {
            const auto version = version_.load(std::memory_order_acquire);
            Words words;
            for (std::size_t i = 0; i < words.size(); ++i) words[i] = words_[i].load(std::memory_order_acquire);
            if (version % 2 == 0 && version_.load(std::memory_order_relaxed) == version)
                return std::bit_cast<struct sigaction>(words);
        }
    }
    void write(const struct sigaction& action) noexcept {
        const auto version = version_.load(std::memory_order_relaxed);
        version_.store(version + 1, std::memory_order_relaxed);
        const auto words = std::bit_cast<Words>(action);
        for (std::size_t i = 0; i < words.size(); ++i) words_[i].store(words[i], std::memory_order_release);
        version_.store(version + 2, std::memory_order_release);
    }

private:
    static constexpr std::size_t size = sizeof(struct sigaction) / sizeof(std::uint64_t);
    using Words = std::array<std::uint64_t, size>;
    static_assert(sizeof(Words) == sizeof(struct sigaction));

    std::array<std::atomic<std::uint64_t>, size> words_{};
    std::atomic<std::uint32_t> version_{0};
};

// A signal's disposition belongs to the process and a handler is given no pointer of ours: the one place here where
// something must be static.
struct Previous {
    SharedAction action;
    std::atomic<bool> spent{false};  ///< SA_RESETHAND: it has had its one call
};
Previous previous_segv, previous_bus;
std::atomic<bool> guard_installed{false};
std::atomic<bool> changing{false};

static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free,
              "a signal handler may use it");

/// Restores the default action. A fault recurs as soon as the handler returns; a signal that was sent must be raised
/// again.
void default_action(int signal, bool sent) {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    __sigaction(signal, &action, nullptr);
    if (sent) raise(signal);
}

void pass_on(Previous& previous, int signal, siginfo_t* info, void* context) {
    const auto action = previous.action.read();
    const bool sent = info->si_code <= 0;  // by kill() and its kind, not by an instruction
    // The kernel does not let a fault be ignored either.
    if (action.sa_handler == SIG_IGN && sent) return;
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) return default_action(signal, sent);
    if ((action.sa_flags & SA_RESETHAND) != 0 && previous.spent.exchange(true)) return default_action(signal, sent);
    if ((action.sa_flags & SA_SIGINFO) != 0) return action.sa_sigaction(signal, info, context);
    action.sa_handler(signal);
}

void on_fault(int signal, siginfo_t* info, void* context) {
    if (info->si_code > 0 && absorb_fault(*static_cast<ucontext_t*>(context))) return;
    pass_on(signal == SIGSEGV ? previous_segv : previous_bus, signal, info, context);
}

/// Our handler, with the mask and flags of the previous one, so that that runs as it would without us; on the alternate
/// stack if the thread has one, since a fault passed on may be a stack overflow.
bool stand_before(const struct sigaction& behind, int signal) {
    struct sigaction ours = {};
    ours.sa_sigaction = on_fault;
    ours.sa_mask = behind.sa_mask;
    ours.sa_flags = (behind.sa_flags & (SA_NODEFER | SA_RESTART)) | SA_SIGINFO | SA_ONSTACK;
    return __sigaction(signal, &ours, nullptr) == 0;
}

bool take_over(int signal, Previous& previous) {
    struct sigaction before = {};
    if (__sigaction(signal, nullptr, &before) != 0) return false;
    previous.action.write(before);
    return stand_before(before, signal);
}

/// One thread changes handlers at a time; signals are blocked, since a handler of the program might do the same.
class Alone {
public:
    Alone() {
        sigset_t all;
        sigfillset(&all);
        mask(SIG_SETMASK, &all, &before_);
        while (changing.exchange(true, std::memory_order_acquire)) sched_yield();
    }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;
    ~Alone() {
        changing.store(false, std::memory_order_release);
        mask(SIG_SETMASK, &before_, nullptr);
    }

private:
    static void mask(int how, const sigset_t* set, sigset_t* before) {
        constexpr std::size_t kernel_set = 8;
        syscall(SYS_rt_sigprocmask, how, set, before, kernel_set);
    }
    sigset_t before_{};
};

}  // namespace

bool install_fault_guard() {
    // Once only: installed again on top of a handler that chains to ours, it would pass foreign faults around forever.
    static const bool installed = take_over(SIGSEGV, previous_segv) && take_over(SIGBUS, previous_bus);
    guard_installed.store(installed, std::memory_order_release);
    return installed;
}

bool change_fault_handler(int signal, const struct sigaction* action, struct sigaction* before) noexcept {
    if ((signal != SIGSEGV && signal != SIGBUS) || !guard_installed.load(std::memory_order_acquire)) return false;
    auto& previous = signal == SIGSEGV ? previous_segv : previous_bus;
    struct sigaction wanted = {};  // copied while a bad pointer is an ordinary fault
    if (action != nullptr) wanted = *action;
    struct sigaction found = {};
    {
        const Alone alone;
        found = previous.action.read();
        if ((found.sa_flags & SA_RESETHAND) != 0 && previous.spent.load()) found = {};  // SIG_DFL
        if (action != nullptr) {
            previous.action.write(wanted);
            previous.spent.store(false);
            stand_before(wanted, signal);
        }
    }
    if (before != nullptr) *before = found;
    return true;
}

}  // namespace verbline::memory
