// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An Ethernet device that carries several VLANs (IEEE 802.1Q), presented as one device for each, whose frames have no
/// tag (pmd/trunk/trunk.h).

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "pmd/base/counter.h"
#include "pmd/trunk/trunk.h"
#include "pmd/vlan/tag.h"

namespace verbline::pmd::vlan {

#define VERBLINE_VLAN_COUNTERS(X)                                              \
    X(rx_dropped_vlan, "frames of a VLAN, or untagged, that no port here has") \
    X(rx_dropped_malformed, "frames shorter than their Ethernet header and tag")

struct VlanCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_VLAN_COUNTERS)
};

#define VERBLINE_VLAN_PORT_COUNTERS(X) X(tx_dropped_no_room, "frames without the room that a VLAN tag needs")

struct VlanPortCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_VLAN_PORT_COUNTERS)
};

/// By tag. The port of untagged frames has the device's name.
struct Sorting {
    using Key = Id;
    using TrunkCounters = VlanCounters;
    using PortCounters = VlanPortCounters;
    static constexpr std::size_t keys = id_mask + 1;

    static std::string name(std::string_view device, Id id);
    static std::optional<Id> take(rte_mbuf& frame) noexcept { return vlan::take(frame); }
    static bool alters(Id id) noexcept { return id != untagged; }
    static bool put(rte_mbuf& frame, Id id) noexcept { return vlan::put(frame, id); }
    static void undo_put(rte_mbuf& frame) noexcept { vlan::undo_put(frame); }
    static Counter& no_port(VlanCounters& counters) { return counters.rx_dropped_vlan; }
    static Counter* keyless(VlanCounters& counters) { return &counters.rx_dropped_malformed; }
    static Counter& no_room(VlanPortCounters& counters) { return counters.tx_dropped_no_room; }
};

using Trunk = trunk::Trunk<Sorting>;

}  // namespace verbline::pmd::vlan

extern template class verbline::pmd::trunk::Trunk<verbline::pmd::vlan::Sorting>;
extern template class verbline::pmd::trunk::Port<verbline::pmd::vlan::Sorting>;
