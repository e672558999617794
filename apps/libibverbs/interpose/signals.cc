// SPDX-License-Identifier: BSD-3-Clause

// Calls of the C library on handlers and masks of signals. SIGSEGV and SIGBUS stay ours and unblocked in the kernel
// (fault_mask.h, datapath/memory/guarded.h); the program gets the answers that it would get without us, and its
// handlers the faults that are its own. All is async-signal-safe.
//
// As in descriptors.cc, the functions are defined under other names.

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apps/libibverbs/interpose/fault_mask.h"
#include "apps/libibverbs/interpose/next.h"
#include "apps/libibverbs/port/owner.h"
#include "datapath/memory/guarded.h"

extern "C" {

int __sigaction(int signal, const struct sigaction* action, struct sigaction* before);

using Handler = void (*)(int);
using SetMask = int(int how, const sigset_t* set, sigset_t* before);

int verbline_sigaction(int signal, const struct sigaction* action, struct sigaction* before) __asm__("sigaction");
Handler verbline_signal(int signal, Handler handler) __asm__("signal");
Handler verbline_bsd_signal(int signal, Handler handler) __asm__("bsd_signal");
Handler verbline_ssignal(int signal, Handler handler) __asm__("ssignal");
Handler verbline_sysv_signal(int signal, Handler handler) __asm__("sysv_signal");
Handler verbline_sysv_signal_too(int signal, Handler handler) __asm__("__sysv_signal");
SetMask verbline_sigprocmask __asm__("sigprocmask");
SetMask verbline_pthread_sigmask __asm__("pthread_sigmask");
SetMask verbline_pthread_sigmask_of_old;  // of programs linked before glibc 2.32
int verbline_attr_setsigmask(pthread_attr_t* attributes, const sigset_t* set) __asm__("pthread_attr_setsigmask_np");

}  // extern "C"

namespace {

using verbline::verbs::FaultMask;
using verbline::verbs::Next;
using verbline::verbs::Owner;

constexpr std::size_t kernel_set = 8;  ///< bytes of the kernel's sigset_t

int sigprocmask_by_number(int how, const sigset_t* set, sigset_t* before) {
    return static_cast<int>(syscall(SYS_rt_sigprocmask, how, set, before, kernel_set));
}

int pthread_sigmask_by_number(int how, const sigset_t* set, sigset_t* before) {
    const int unchanged = errno;
    if (sigprocmask_by_number(how, set, before) == 0) return 0;
    const int error = errno;
    errno = unchanged;
    return error;
}

Handler install(int signal, Handler handler, int flags, decltype(__sigaction)* by) {
    struct sigaction action = {}, before = {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    return by(signal, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}

Handler bsd_signal_of_libc(int signal, Handler handler) {
    return install(signal, handler, SA_RESTART, __sigaction);
}

constexpr int once = static_cast<int>(SA_RESETHAND) | SA_NODEFER;

Handler sysv_signal_of_libc(int signal, Handler handler) {
    return install(signal, handler, once, __sigaction);
}

int no_attribute(pthread_attr_t* /*attributes*/, const sigset_t* /*set*/) {
    return ENOSYS;
}

constinit Next<int(int, const struct sigaction*, struct sigaction*)> next_sigaction(__sigaction);
constinit Next<Handler(int, Handler)> next_signal(bsd_signal_of_libc), next_sysv_signal(sysv_signal_of_libc);
constinit Next<SetMask> next_sigprocmask(sigprocmask_by_number), next_pthread_sigmask(pthread_sigmask_by_number);
constinit Next<int(pthread_attr_t*, const sigset_t*)> next_attr_setsigmask(no_attribute);

// Of the thread. A preloaded library's is in each thread's static block, so that a signal handler that reads it first
// needs no memory. Not of the model that relies on that (initial-exec): the library could not be opened by dlopen(3)
// any more.
constinit thread_local FaultMask believed;

/// Signals whose handlers the program has set to run with the two blocked: a bit for each signal.
struct HandlerMasks {
    std::atomic<std::uint64_t> segv{0}, bus{0};

    FaultMask of(int signal) const {
        FaultMask mask;
        const auto named = [&](const auto& bits) {
            return (bits.load(std::memory_order_relaxed) >> (signal - 1) & 1) != 0;
        };
        sigset_t set;
        sigemptyset(&set);
        if (named(segv)) sigaddset(&set, SIGSEGV);
        if (named(bus)) sigaddset(&set, SIGBUS);
        mask.change(SIG_SETMASK, set);
        return mask;
    }
    void change(int signal, const sigset_t& set) {
        const auto bit = std::uint64_t{1} << (signal - 1);
        const auto put = [bit](auto& bits, bool named) { named ? bits.fetch_or(bit) : bits.fetch_and(~bit); };
        put(segv, sigismember(&set, SIGSEGV) == 1);
        put(bus, sigismember(&set, SIGBUS) == 1);
    }
};
constinit HandlerMasks handler_masks;

bool is_fault(int signal) {
    return signal == SIGSEGV || signal == SIGBUS;
}

/// True in a child that runs in its parent's memory: it has masks and handlers of its own, and the state here is the
/// parent's.
bool borrows() {
    return Owner::caller() == Owner::Caller::borrower;
}

int set_mask(SetMask* next, int how, const sigset_t* set, sigset_t* before) {
    if ((set == nullptr || !FaultMask::in(*set)) && believed.empty()) return next(how, set, before);
    if (borrows()) return next(how, set, before);
    const auto wanted = set != nullptr ? *set : sigset_t{};  // `before` may be the same
    const auto given = FaultMask::without(wanted);
    const int result = next(how, set != nullptr ? &given : nullptr, before);
    if (result != 0) return result;
    if (before != nullptr) believed.add_to(*before);
    if (set != nullptr) believed.change(how, wanted);
    return 0;
}

/// For a program that was started with the two signals blocked.
void unblock_inherited() {
    sigset_t inherited;
    sigprocmask_by_number(SIG_SETMASK, nullptr, &inherited);
    if (!FaultMask::in(inherited)) return;
    believed.change(SIG_SETMASK, inherited);
    const auto given = FaultMask::without(inherited);
    sigprocmask_by_number(SIG_SETMASK, &given, nullptr);
}

[[gnu::constructor]] void look_for_signal_calls() {
    next_sigaction.look("sigaction");
    next_signal.look("signal");
    next_sysv_signal.look("__sysv_signal");
    next_sigprocmask.look("sigprocmask");
    next_pthread_sigmask.look("pthread_sigmask");
    next_attr_setsigmask.look("pthread_attr_setsigmask_np");
    unblock_inherited();
}

}  // namespace

extern "C" {

int verbline_sigaction(int signal, const struct sigaction* action, struct sigaction* before) {
    if (signal <= 0 || signal >= NSIG || borrows()) return next_sigaction.get()(signal, action, before);
    if (is_fault(signal) && verbline::memory::change_fault_handler(signal, action, before)) return 0;
    const auto known = handler_masks.of(signal);
    struct sigaction given = {};
    if (action != nullptr) given = *action;
    const auto wanted = given.sa_mask;
    given.sa_mask = FaultMask::without(wanted);
    const int result = next_sigaction.get()(signal, action != nullptr ? &given : nullptr, before);
    if (result != 0) return result;
    if (before != nullptr) known.add_to(before->sa_mask);
    if (action != nullptr) handler_masks.change(signal, wanted);
    return 0;
}

Handler verbline_signal(int signal, Handler handler) {
    if (!is_fault(signal) || handler == SIG_ERR) return next_signal.get()(signal, handler);
    return install(signal, handler, SA_RESTART, verbline_sigaction);
}

Handler verbline_bsd_signal(int signal, Handler handler) {
    return verbline_signal(signal, handler);
}

Handler verbline_ssignal(int signal, Handler handler) {
    return verbline_signal(signal, handler);
}

Handler verbline_sysv_signal(int signal, Handler handler) {
    if (!is_fault(signal) || handler == SIG_ERR) return next_sysv_signal.get()(signal, handler);
    return install(signal, handler, once, verbline_sigaction);
}

Handler verbline_sysv_signal_too(int signal, Handler handler) {
    return verbline_sysv_signal(signal, handler);
}

int verbline_sigprocmask(int how, const sigset_t* set, sigset_t* before) {
    return set_mask(next_sigprocmask.get(), how, set, before);
}

int verbline_pthread_sigmask(int how, const sigset_t* set, sigset_t* before) {
    return set_mask(next_pthread_sigmask.get(), how, set, before);
}

int verbline_pthread_sigmask_of_old(int how, const sigset_t* set, sigset_t* before) {
    return verbline_pthread_sigmask(how, set, before);
}
#ifdef __x86_64__
__asm__(".symver verbline_pthread_sigmask_of_old, pthread_sigmask@GLIBC_2.2.5");
#endif

int verbline_attr_setsigmask(pthread_attr_t* attributes, const sigset_t* set) {
    if (set == nullptr) return next_attr_setsigmask.get()(attributes, set);
    const auto given = FaultMask::without(*set);
    return next_attr_setsigmask.get()(attributes, &given);
}

}  // extern "C"
