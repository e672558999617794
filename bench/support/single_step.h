// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Counts the instructions that the calling thread executes, and how many of them lock the bus: with the trap flag set,
/// the processor raises SIGTRAP before each. x86-64 only. Exact, where performance counters of a virtual machine are
/// missing or count what interrupts execute; system calls count as one instruction.

#if defined(__x86_64__)

#include <cstdint>
#include <stdexcept>

#include <signal.h>
#include <ucontext.h>

namespace verbline::bench {

struct Executed {
    std::uint64_t instructions = 0, locked = 0;
};

class SingleStep {
public:
    SingleStep() {
        struct sigaction action{};
        action.sa_sigaction = [](int, siginfo_t*, void* context) { step(*static_cast<ucontext_t*>(context)); };
        action.sa_flags = SA_SIGINFO;
        sigemptyset(&action.sa_mask);
        if (sigaction(SIGTRAP, &action, &before_) != 0) throw std::runtime_error("cannot handle SIGTRAP");
    }
    ~SingleStep() { sigaction(SIGTRAP, &before_, nullptr); }
    SingleStep(const SingleStep&) = delete;
    SingleStep& operator=(const SingleStep&) = delete;

    /// What `run` executes, and a few instructions around it, none of which is locked.
    template <class Run>
    Executed count(Run&& run) {
        executed_ = {};
        set_trap_flag();
        run();
        clear_trap_flag();
        return executed_;
    }

private:
    // Past the red zone, in which the compiler may keep values below the stack pointer.
    static void set_trap_flag() {
        asm volatile("sub $128, %%rsp; pushfq; orq $0x100, (%%rsp); popfq; add $128, %%rsp" ::: "memory", "cc");
    }
    static void clear_trap_flag() {
        asm volatile("sub $128, %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; add $128, %%rsp" ::: "memory", "cc");
    }

    static void step(const ucontext_t& context) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): registers hold addresses as numbers
        const auto* const next = reinterpret_cast<const std::uint8_t*>(context.uc_mcontext.gregs[REG_RIP]);
        ++executed_.instructions;
        executed_.locked += locks(next) ? 1 : 0;
    }

    /// By its prefix; XCHG with memory locks without one (Intel SDM volume 2, XCHG).
    static bool locks(const std::uint8_t* at) {
        for (;; ++at) {
            switch (*at) {
                case 0xf0: return true;
                case 0x26:
                case 0x2e:
                case 0x36:
                case 0x3e:
                case 0x64:
                case 0x65:
                case 0x66:
                case 0x67:
                case 0xf2:
                case 0xf3: continue;
                default: break;
            }
            break;
        }
        if ((*at & 0xf0) == 0x40) ++at;  // REX
        const bool exchanges = *at == 0x86 || *at == 0x87;
        return exchanges && (at[1] & 0xc0) != 0xc0;
    }

    static inline Executed executed_;  ///< a signal handler has no object at hand
    struct sigaction before_{};
};

}  // namespace verbline::bench

#endif
