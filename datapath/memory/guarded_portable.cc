// SPDX-License-Identifier: BSD-3-Clause
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "datapath/memory/fault_guard.h"
#include "datapath/memory/guarded.h"

// Where there is no assembly for the architecture: the handler jumps out of the access. Correct everywhere, and tens of
// nanoseconds slower.

namespace verbline::memory {
namespace {

/// The jump target of this thread's guarded access on a fault; null outside of one.
thread_local sigjmp_buf* volatile resume = nullptr;

/// The signal mask is not saved, since that would be a system call each time; the handler restores it before its jump.
template <class Access>
bool guarded(Access access) noexcept {
    sigjmp_buf here;
    if (sigsetjmp(here, 0) != 0) {
        resume = nullptr;
        return false;
    }
    resume = &here;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    access();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    resume = nullptr;
    return true;
}

// To C++ an access at null is no access at all, so it can not be left to fault.
bool aligned(const std::byte* at) {
    return at != nullptr && (reinterpret_cast<std::uintptr_t>(at) & 7) == 0;
}

std::atomic_ref<std::uint64_t> word(std::byte* at) {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at));
}

}  // namespace

bool absorb_fault(ucontext_t& context) noexcept {
    auto* const to = resume;
    if (to == nullptr) return false;
    pthread_sigmask(SIG_SETMASK, &context.uc_sigmask, nullptr);
    siglongjmp(*to, 1);
}

bool guarded_copy(std::byte* to, const std::byte* from, std::size_t size) noexcept {
    if (size == 0) return true;
    return to != nullptr && from != nullptr && guarded([=] { std::memcpy(to, from, size); });
}

std::optional<std::uint64_t> guarded_compare_swap(std::byte* at, std::uint64_t compare, std::uint64_t swap) noexcept {
    // The compiler may keep any variable in a register across the jump, except a volatile one.
    volatile std::uint64_t before = compare;
    const bool done = aligned(at) && guarded([&] {
                          std::uint64_t expected = compare;
                          word(at).compare_exchange_strong(expected, swap);
                          before = expected;
                      });
    return done ? std::optional<std::uint64_t>(before) : std::nullopt;
}

std::optional<std::uint64_t> guarded_fetch_add(std::byte* at, std::uint64_t add) noexcept {
    volatile std::uint64_t before = 0;
    const bool done = aligned(at) && guarded([&] { before = word(at).fetch_add(add); });
    return done ? std::optional<std::uint64_t>(before) : std::nullopt;
}

bool guarded_store(std::byte* at, std::uint64_t value) noexcept {
    return aligned(at) && guarded([=] { word(at).store(value); });
}

}  // namespace verbline::memory
