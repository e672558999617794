// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Addresses and state of those of the kernel's interfaces that are ours, told when they change.
///
/// As route_mirror.h: events change what is known, and whatever differs from what was last told is told; nothing
/// between Resync and Synced. Pure: no I/O. Owned by the control thread.

#include <map>
#include <vector>

#include "control/host/kernel_event.h"
#include "datapath/forward/interface_id.h"

namespace verbline::host {

/// An interface as the kernel has it. The first address is the one to speak from where no other fits better.
struct InterfaceState {
    bool up = false;
    std::uint32_t mtu = 0;
    std::vector<wire::Ipv4Prefix> addresses;
    bool operator==(const InterfaceState&) const = default;
};

class InterfaceMirror {
public:
    struct Changed {
        forward::InterfaceId interface;
        InterfaceState state;
    };
    using Actions = std::vector<Changed>;

    /// The kernel's interface `ifindex` is our interface `id`.
    Actions attach(int ifindex, forward::InterfaceId id);
    void detach(int ifindex) { ours_.erase(ifindex); }
    Actions received(const KernelEvent& event);

private:
    struct Ours {
        forward::InterfaceId id;
        InterfaceState told;
    };

    void learn(const KernelEvent& event);
    Actions reconcile();

    std::map<int, InterfaceState> known_;
    std::map<int, Ours> ours_;
    bool synced_ = false;
};

}  // namespace verbline::host
