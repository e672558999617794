// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Attributes of a port, and the events of their changes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "datapath/wire/deth.h"
#include "datapath/wire/port_info.h"
#include "datapath/wire/types.h"

namespace verbline::mad {

constexpr wire::Qpn smi{0},
    gsi = wire::gsi_qpn;  ///< queue pairs of subnet management and of general services (IBTA 3.9.4)

struct PortFacts {
    wire::Lid lid{};     ///< 0: not yet assigned
    wire::Lid sm_lid{};  ///< 0: no subnet manager yet
    std::uint8_t sm_sl = 0;
    std::uint8_t lmc = 0;
    wire::Guid guid{};               ///< of the port
    wire::Guid node_guid{};          ///< 0: not known
    std::uint32_t capabilities = 0;  ///< wire::port_capability
    std::uint64_t subnet_prefix = wire::default_subnet_prefix;
    std::vector<wire::PKey> pkeys;  ///< the P_Key table; 0 marks an empty entry
    wire::PortState state{};        ///< no_change: not read yet
    std::uint16_t mtu = 0;          ///< of the link, bytes of payload
    wire::Qpn qpn = gsi;            ///< receives unsolicited MADs: the QPN to name in subscriptions

    wire::Gid gid() const { return wire::Gid::of(subnet_prefix, guid); }
    bool active() const { return state == wire::PortState::active; }
    bool operator==(const PortFacts&) const = default;
};

/// Updates `facts` from a PortInfo: LIDs, SM, prefix, state, MTU.
void apply(const wire::PortInfo& info, PortFacts& facts);
/// Appends one block of the P_Key table: big-endian, two bytes each (IBTA 14.2.5.7).
void append_pkeys(std::span<const std::byte> block, PortFacts& facts);

enum class PortEvent : std::uint8_t {
    lid_change,
    sm_change,          ///< another LID or SL of the subnet manager
    client_reregister,  ///< the SM requests joins and subscriptions anew (IBTA 14.4.11)
    port_down,
    port_up,
    pkey_change,
    gid_change,
};

/// Whether the subnet manager has none of our registrations: it says so, or another one has taken over.
constexpr bool asks_for_registrations(PortEvent event) {
    return event == PortEvent::client_reregister || event == PortEvent::sm_change;
}

/// Events for the differences between two readings of a port, in the order to raise them: down first, up last.
std::vector<PortEvent> changes(const PortFacts& before, const PortFacts& now);

}  // namespace verbline::mad
