// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/memory_policy.h"

#include <numa.h>
#include <numaif.h>

namespace verbline::gateway {

MemoryOnSocket::MemoryOnSocket(int socket) noexcept {
    if (socket < 0 || numa_available() < 0 || socket > numa_max_node()) return;
    auto* const nodes = numa_allocate_nodemask();
    if (nodes == nullptr) return;
    if (get_mempolicy(&mode_, nodes->maskp, nodes->size + 1, nullptr, 0) != 0) {
        numa_free_nodemask(nodes);
        return;
    }
    nodes_ = nodes;
    numa_set_preferred(socket);
}

MemoryOnSocket::~MemoryOnSocket() {
    if (nodes_ == nullptr) return;
    set_mempolicy(mode_, nodes_->maskp, nodes_->size + 1);
    numa_free_nodemask(nodes_);
}

}  // namespace verbline::gateway
