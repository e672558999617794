// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/interface_mirror.h"

#include <algorithm>

namespace verbline::host {

InterfaceMirror::Actions InterfaceMirror::attach(int ifindex, forward::InterfaceId id) {
    ours_.insert_or_assign(ifindex, Ours{id, {}});
    return reconcile();
}

InterfaceMirror::Actions InterfaceMirror::received(const KernelEvent& event) {
    learn(event);
    return reconcile();
}

void InterfaceMirror::learn(const KernelEvent& event) {
    if (const auto* changed = std::get_if<LinkChanged>(&event)) {
        auto& state = known_[changed->link.ifindex];
        state.up = changed->link.up;
        state.mtu = changed->link.mtu;
    } else if (const auto* removed = std::get_if<LinkRemoved>(&event)) {
        known_.erase(removed->ifindex);
    } else if (const auto* added = std::get_if<AddressAdded>(&event)) {
        auto& [up, mtu, addresses, certain] = known_[added->ifindex];
        if (std::ranges::find(addresses, added->address) != addresses.end()) return;
        addresses.push_back(added->address);
        if (added->certain) certain.push_back(added->address.gid);
    } else if (const auto* gone = std::get_if<AddressRemoved>(&event)) {
        if (const auto link = known_.find(gone->ifindex); link != known_.end()) {
            std::erase(link->second.addresses, gone->address);
            std::erase(link->second.certain, gone->address.gid);
        }
    } else if (std::holds_alternative<Resync>(event)) {
        synced_ = false;
        known_.clear();
    } else if (std::holds_alternative<Synced>(event)) {
        synced_ = true;
    }
}

InterfaceMirror::Actions InterfaceMirror::reconcile() {
    Actions out;
    if (!synced_) return out;
    for (auto& [ifindex, ours] : ours_) {
        const auto link = known_.find(ifindex);
        const auto state = link == known_.end() ? InterfaceState{} : link->second;
        if (state == ours.announced) continue;
        ours.announced = state;
        out.push_back({ours.id, state});
    }
    return out;
}

}  // namespace verbline::host
