// SPDX-License-Identifier: BSD-3-Clause

// Programs that fork announce it, because pages that hardware writes to must not be copied on write under it. Here it
// is the processor that writes, through the page tables of the process: there is nothing to prepare.

#include <cstddef>

#include <infiniband/verbs.h>

extern "C" {

int ibv_fork_init() {
    return 0;
}

ibv_fork_status ibv_is_fork_initialized() {
    return IBV_FORK_UNNEEDED;
}

// Of libmlx5, about memory of its own.
int ibv_dontfork_range(void* base, std::size_t size);
int ibv_dofork_range(void* base, std::size_t size);

int ibv_dontfork_range(void* /*base*/, std::size_t /*size*/) {
    return 0;
}

int ibv_dofork_range(void* /*base*/, std::size_t /*size*/) {
    return 0;
}

}  // extern "C"
