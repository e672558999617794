// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/owner.h"

#include <new>

#include <linux/kcmp.h>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace verbline::verbs {

constinit std::atomic<std::atomic<pid_t>*> Owner::page_{nullptr};
static_assert(std::atomic<pid_t>::is_always_lock_free, "a signal handler may use it");

void Owner::claim() noexcept {
    auto* page = page_.load(std::memory_order_acquire);
    if (page == nullptr) {
        constexpr std::size_t size = 4096;
        void* const at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) return;
        madvise(at, size, MADV_WIPEONFORK);
        page = new (at) std::atomic<pid_t>(0);
    }
    page->store(getpid(), std::memory_order_relaxed);
    page_.store(page, std::memory_order_release);
}

bool Owner::shares_descriptors() noexcept {
    switch (caller()) {
        case Caller::owner: return true;
        case Caller::copy: return false;
        case Caller::borrower: break;
    }
    // Negative: kcmp is unavailable (CONFIG_KCMP, seccomp). Nearly all borrowers come from vfork, with a table of their
    // own.
    return syscall(SYS_kcmp, getpid(), pid(), KCMP_FILES, 0, 0) == 0;
}

}  // namespace verbline::verbs
