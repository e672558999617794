// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/shares.h"

namespace verbline::cm {

std::optional<Shares::Slot> Shares::take(const PortAddress& port) {
    const RemoteEnd end{.owner = static_cast<std::uint64_t>(port.lid), .gid = port.gid};
    const auto slot = static_cast<Slot>(hash_(end) % slot_count);
    const std::size_t before = taken_.fetch_add(1, std::memory_order_relaxed);
    const std::size_t own = by_port_[slot].fetch_add(1, std::memory_order_relaxed);
    if (before < places_ && own < places_ - before) return slot;
    give_back(slot);
    return std::nullopt;
}

void Shares::give_back(Slot slot) {
    by_port_[slot].fetch_sub(1, std::memory_order_relaxed);
    taken_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace verbline::cm
