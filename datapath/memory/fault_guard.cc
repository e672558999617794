// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/memory/fault_guard.h"

#include <atomic>
#include <csignal>

#include "datapath/memory/guarded.h"

namespace verbline::memory {
namespace {

// A signal's disposition belongs to the process and a handler is given no pointer of ours: the one place here where
// something must be static. Written before the handler is installed, and never again.
struct Previous {
    struct sigaction action;
    std::atomic<bool> spent{false};  ///< SA_RESETHAND: it has had its one call
};
Previous previous_segv, previous_bus;

static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may use it");

/// Lets the kernel do what it does without a handler. A fault comes again as soon as we return; a signal that somebody
/// sent must be sent again.
void default_action(int signal, bool sent) {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
    if (sent) raise(signal);
}

void pass_on(Previous& previous, int signal, siginfo_t* info, void* context) {
    const auto& action = previous.action;
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

bool take_over(int signal, Previous& previous) {
    if (sigaction(signal, nullptr, &previous.action) != 0) return false;
    struct sigaction ours = {};
    ours.sa_sigaction = on_fault;
    // The mask and flags of the handler before us, so that it runs as it would without us; on the alternative stack
    // where the thread has one, since a fault passed on may be a stack overflow.
    ours.sa_mask = previous.action.sa_mask;
    ours.sa_flags = (previous.action.sa_flags & (SA_NODEFER | SA_RESTART)) | SA_SIGINFO | SA_ONSTACK;
    return sigaction(signal, &ours, nullptr) == 0;
}

}  // namespace

bool install_fault_guard() {
    // Once only: were we installed again above a handler that passes on to us, foreign faults would go round for ever.
    static const bool installed = take_over(SIGSEGV, previous_segv) && take_over(SIGBUS, previous_bus);
    return installed;
}

}  // namespace verbline::memory
