// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Tracks addresses and state of the kernel interfaces that are attached as ours, and emits changes.
///
/// As route_mirror.h: events update the known state, and differences from what was last emitted are emitted; nothing
/// between Resync and Synced. Pure: no I/O. Owned by the control thread.

#include <map>
#include <vector>

#include "control/host/kernel_event.h"
#include "datapath/forward/interface_id.h"

namespace verbline::host {

/// An interface's state in the kernel. The first address of a family is its default source address.
struct InterfaceState {
    bool up = false;
    std::uint32_t mtu = 0;
    std::vector<link::InterfaceAddress> addresses;
    std::vector<wire::Gid> certain{};  ///< of these, those to be used without duplicate address detection
    bool operator==(const InterfaceState&) const = default;
};

class InterfaceMirror {
public:
    struct Changed {
        forward::InterfaceId interface;
        InterfaceState state;
    };
    using Actions = std::vector<Changed>;

    /// Maps the kernel's interface `ifindex` to our interface `id`.
    Actions attach(int ifindex, forward::InterfaceId id);
    void detach(int ifindex) { ours_.erase(ifindex); }
    Actions received(const KernelEvent& event);

private:
    struct Ours {
        forward::InterfaceId id;
        InterfaceState announced;
    };

    void learn(const KernelEvent& event);
    Actions reconcile();

    std::map<int, InterfaceState> known_;
    std::map<int, Ours> ours_;
    bool synced_ = false;
};

}  // namespace verbline::host
