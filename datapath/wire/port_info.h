// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// PortInfo: state and capabilities of one port, read and set by the subnet manager.
///
///     byte  0  M_Key, 8 bytes     8  GID prefix, 8 bytes   16  LID   18  SM LID   20  capability mask   24 diagnostics
///          26  M_Key lease       28  local port            29  link width enabled, supported, active
///          32  link speed supported 4 bits, state 4        33  physical state 4, link-down default 4
///          34  M_Key protection 2, reserved 3, LMC 3       35  link speed active 4, enabled 4
///          36  neighbour MTU 4, SM SL 4                    37  VL cap 4, init type 4        38  VL high limit
///          39  VL arbitration high, low cap                41  init type reply 4, MTU cap 4
///          42  VL stall count 3, head-of-queue life 5
///          43  operational VLs 4, P_Key enforcement and raw filter, in and out
///          44  M_Key, P_Key, Q_Key violations, 2 bytes each                                 50  GUID cap
///          51  client reregister 1, multicast P_Key trap suppression 2, subnet timeout 5
///          52  reserved 3, response time 5                 53  local physical, overrun error thresholds, 4 each
///          54  max credit hint                             56  reserved 8, link round trip 24
///          60  capability mask 2  62  extended speed active 4, supported 4      63  reserved 3, enabled 5
///
/// IBTA volume 1, 14.2.5.6.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/sa.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

enum class PortState : std::uint8_t { no_change = 0, down = 1, initialise = 2, armed = 3, active = 4 };

namespace port_capability {
constexpr std::uint32_t is_sm = 1u << 1, client_reregistration = 1u << 25;
}

struct PortInfo {
    static constexpr std::size_t size = 64;

    std::uint64_t mkey = 0;
    std::uint64_t gid_prefix = 0;
    Lid lid{};
    Lid sm_lid{};
    std::uint32_t capabilities = 0;  ///< port_capability
    std::uint16_t diagnostics = 0;
    std::uint16_t mkey_lease = 0;  ///< seconds
    std::uint8_t local_port = 0;
    std::uint8_t width_enabled = 0, width_supported = 0, width_active = 0;  ///< 1: 1x, 2: 4x, 4: 8x, 8: 12x
    std::uint8_t speed_supported = 0;
    PortState state{};
    std::uint8_t physical_state = 0;  ///< 5: link up
    std::uint8_t link_down_default = 0;
    std::uint8_t mkey_protect = 0;
    std::uint8_t lmc = 0;
    std::uint8_t speed_active = 0, speed_enabled = 0;
    IbMtu neighbour_mtu{};
    std::uint8_t sm_service_level = 0;
    std::uint8_t vl_cap = 0;
    std::uint8_t init_type = 0;
    std::uint8_t vl_high_limit = 0;
    std::uint8_t vl_arbitration_high = 0, vl_arbitration_low = 0;
    std::uint8_t init_type_reply = 0;
    IbMtu mtu_cap{};
    std::uint8_t vl_stall_count = 0;
    std::uint8_t queue_life = 0;
    std::uint8_t operational_vls = 0;
    bool pkey_enforced_in = false, pkey_enforced_out = false;
    bool raw_filtered_in = false, raw_filtered_out = false;
    std::uint16_t mkey_violations = 0, pkey_violations = 0, qkey_violations = 0;
    std::uint8_t guid_cap = 0;
    bool client_reregister = false;  ///< the SM has lost subscriptions and memberships: register them again
    std::uint8_t multicast_pkey_trap_suppression = 0;
    std::uint8_t subnet_timeout = 0;  ///< 4.096 us * 2^n
    std::uint8_t response_time = 0;   ///< 4.096 us * 2^n
    std::uint8_t physical_error_threshold = 0, overrun_error_threshold = 0;
    std::uint16_t max_credit_hint = 0;
    std::uint32_t round_trip = 0;  ///< 24 bits
    std::uint16_t capabilities_2 = 0;
    std::uint8_t extended_speed_active = 0, extended_speed_supported = 0, extended_speed_enabled = 0;

    using Layout = Fields<
        Field<&PortInfo::mkey, at(0), 64>, Field<&PortInfo::gid_prefix, at(8), 64>, Field<&PortInfo::lid, at(16), 16>,
        Field<&PortInfo::sm_lid, at(18), 16>, Field<&PortInfo::capabilities, at(20), 32>,
        Field<&PortInfo::diagnostics, at(24), 16>, Field<&PortInfo::mkey_lease, at(26), 16>,
        Field<&PortInfo::local_port, at(28), 8>, Field<&PortInfo::width_enabled, at(29), 8>,
        Field<&PortInfo::width_supported, at(30), 8>, Field<&PortInfo::width_active, at(31), 8>,
        Field<&PortInfo::speed_supported, at(32), 4>, Field<&PortInfo::state, at(32, 4), 4>,
        Field<&PortInfo::physical_state, at(33), 4>, Field<&PortInfo::link_down_default, at(33, 4), 4>,
        Field<&PortInfo::mkey_protect, at(34), 2>, Reserved<at(34, 2), 3>, Field<&PortInfo::lmc, at(34, 5), 3>,
        Field<&PortInfo::speed_active, at(35), 4>, Field<&PortInfo::speed_enabled, at(35, 4), 4>,
        Field<&PortInfo::neighbour_mtu, at(36), 4>, Field<&PortInfo::sm_service_level, at(36, 4), 4>,
        Field<&PortInfo::vl_cap, at(37), 4>, Field<&PortInfo::init_type, at(37, 4), 4>,
        Field<&PortInfo::vl_high_limit, at(38), 8>, Field<&PortInfo::vl_arbitration_high, at(39), 8>,
        Field<&PortInfo::vl_arbitration_low, at(40), 8>, Field<&PortInfo::init_type_reply, at(41), 4>,
        Field<&PortInfo::mtu_cap, at(41, 4), 4>, Field<&PortInfo::vl_stall_count, at(42), 3>,
        Field<&PortInfo::queue_life, at(42, 3), 5>, Field<&PortInfo::operational_vls, at(43), 4>,
        Field<&PortInfo::pkey_enforced_in, at(43, 4), 1>, Field<&PortInfo::pkey_enforced_out, at(43, 5), 1>,
        Field<&PortInfo::raw_filtered_in, at(43, 6), 1>, Field<&PortInfo::raw_filtered_out, at(43, 7), 1>,
        Field<&PortInfo::mkey_violations, at(44), 16>, Field<&PortInfo::pkey_violations, at(46), 16>,
        Field<&PortInfo::qkey_violations, at(48), 16>, Field<&PortInfo::guid_cap, at(50), 8>,
        Field<&PortInfo::client_reregister, at(51), 1>, Field<&PortInfo::multicast_pkey_trap_suppression, at(51, 1), 2>,
        Field<&PortInfo::subnet_timeout, at(51, 3), 5>, Reserved<at(52), 3>,
        Field<&PortInfo::response_time, at(52, 3), 5>, Field<&PortInfo::physical_error_threshold, at(53), 4>,
        Field<&PortInfo::overrun_error_threshold, at(53, 4), 4>, Field<&PortInfo::max_credit_hint, at(54), 16>,
        Reserved<at(56), 8>, Field<&PortInfo::round_trip, at(57), 24>, Field<&PortInfo::capabilities_2, at(60), 16>,
        Field<&PortInfo::extended_speed_active, at(62), 4>, Field<&PortInfo::extended_speed_supported, at(62, 4), 4>,
        Reserved<at(63), 3>, Field<&PortInfo::extended_speed_enabled, at(63, 3), 5>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<PortInfo> parse(Bytes packet) { return read<PortInfo>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const PortInfo&) const = default;
};

/// PortInfoRecord of the SA: which port, then its PortInfo (15.2.5.3).
struct PortInfoRecord {
    static constexpr std::size_t size = 68;

    Lid lid{};
    std::uint8_t port = 0;
    PortInfo info{};

    using Layout = Fields<Field<&PortInfoRecord::lid, at(0), 16>, Field<&PortInfoRecord::port, at(2), 8>,
                          Reserved<at(3), 8>, Field<&PortInfoRecord::info, at(4), 512>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<PortInfoRecord> parse(Bytes packet) { return read<PortInfoRecord>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const PortInfoRecord&) const = default;
};

namespace port_info_component {
constexpr ComponentMask lid = component(0), port = component(1);
}

}  // namespace verbline::wire
