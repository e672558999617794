// SPDX-License-Identifier: BSD-3-Clause
#include "control/hub/port_table.h"

#include <algorithm>

namespace verbline::hub {

std::optional<LaneId> PortTable::against(const Uses& uses, const Held& wanted, const Held* instead_of) const {
    for (const auto& held : uses) {
        if (&held == instead_of || (!shared_ && held.lane != wanted.lane)) continue;
        if (conflict(held.use, wanted.use) != rdmacm::PortConflict::none) return held.lane;
    }
    return std::nullopt;
}

std::expected<void, LaneId> PortTable::reserve(LaneId lane, PortNumber port, const PortUse& use) {
    const Held wanted{lane, use};
    const auto found = uses_.find(port);
    if (found == uses_.end()) {
        uses_.emplace(port, Uses{wanted});
        return {};
    }
    if (const auto holder = against(found->second, wanted, nullptr)) return std::unexpected(*holder);
    found->second.push_back(wanted);
    return {};
}

std::expected<void, std::optional<LaneId>> PortTable::change(LaneId lane, PortNumber port, const PortUse& from,
                                                             const PortUse& to) {
    const auto found = uses_.find(port);
    if (found == uses_.end()) return std::unexpected(std::nullopt);
    const auto held = std::ranges::find(found->second, Held{lane, from});
    if (held == found->second.end()) return std::unexpected(std::nullopt);
    if (const auto holder = against(found->second, {lane, to}, &*held)) return std::unexpected(holder);
    held->use = to;
    return {};
}

bool PortTable::release(LaneId lane, PortNumber port, const PortUse& use) {
    const auto found = uses_.find(port);
    if (found == uses_.end()) return false;
    const auto held = std::ranges::find(found->second, Held{lane, use});
    if (held == found->second.end()) return false;
    found->second.erase(held);
    if (found->second.empty()) uses_.erase(found);
    return true;
}

void PortTable::leave(LaneId lane) {
    for (auto& [port, uses] : uses_) std::erase_if(uses, [lane](const Held& held) { return held.lane == lane; });
    std::erase_if(uses_, [](const auto& entry) { return entry.second.empty(); });
}

std::optional<LaneId> PortTable::holder(PortNumber port,
                                        const std::optional<rdmacm::SocketAddress>& destination) const {
    const auto found = uses_.find(port);
    if (found == uses_.end()) return std::nullopt;
    std::optional<LaneId> best;
    auto how = rdmacm::Suits::no;
    for (const auto& held : found->second) {
        const auto suits = rdmacm::suits(held.use, destination);
        if (suits <= how) continue;
        best = held.lane;
        how = suits;
    }
    return best;
}

}  // namespace verbline::hub
