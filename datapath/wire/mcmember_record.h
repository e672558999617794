// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// MCMemberRecord: a multicast group and one port's membership in it.
///
///     byte  0  MGID                    16  port GID
///          32  Q_Key                   36  MLID
///          38  MTU selector 2 bits, MTU 6      39  traffic class      40  P_Key
///          42  rate selector 2, rate 6         43  packet lifetime selector 2, packet lifetime 6
///          44  SL 4 bits, flow label 20        47  hop limit
///          48  scope 4 bits, join state 4      49  proxy join 1 bit, reserved 7      50  reserved, 2 bytes
///
/// IBTA volume 1, 15.2.5.17.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/sa.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

/// Bits of MCMemberRecord:JoinState.
using JoinState = std::uint8_t;
namespace join_state {
constexpr JoinState full_member = 1, non_member = 2, send_only_non_member = 4, send_only_full_member = 8;
}

struct McMemberRecord {
    static constexpr std::size_t size = 52;

    Gid mgid{};
    Gid port_gid{};
    QKey qkey{};
    Lid mlid{};
    Selector mtu_selector{};
    IbMtu mtu{};
    std::uint8_t traffic_class = 0;
    PKey pkey{};
    Selector rate_selector{};
    std::uint8_t rate = 0;
    Selector lifetime_selector{};
    std::uint8_t lifetime = 0;
    std::uint8_t service_level = 0;
    std::uint32_t flow_label = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t scope = 0;
    JoinState join_state = 0;
    bool proxy_join = false;

    using Layout =
        Fields<Field<&McMemberRecord::mgid, at(0), 128>, Field<&McMemberRecord::port_gid, at(16), 128>,
               Field<&McMemberRecord::qkey, at(32), 32>, Field<&McMemberRecord::mlid, at(36), 16>,
               Field<&McMemberRecord::mtu_selector, at(38), 2>, Field<&McMemberRecord::mtu, at(38, 2), 6>,
               Field<&McMemberRecord::traffic_class, at(39), 8>, Field<&McMemberRecord::pkey, at(40), 16>,
               Field<&McMemberRecord::rate_selector, at(42), 2>, Field<&McMemberRecord::rate, at(42, 2), 6>,
               Field<&McMemberRecord::lifetime_selector, at(43), 2>, Field<&McMemberRecord::lifetime, at(43, 2), 6>,
               Field<&McMemberRecord::service_level, at(44), 4>, Field<&McMemberRecord::flow_label, at(44, 4), 20>,
               Field<&McMemberRecord::hop_limit, at(47), 8>, Field<&McMemberRecord::scope, at(48), 4>,
               Field<&McMemberRecord::join_state, at(48, 4), 4>, Field<&McMemberRecord::proxy_join, at(49), 1>,
               Reserved<at(49, 1), 23>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<McMemberRecord> parse(Bytes packet) { return read<McMemberRecord>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const McMemberRecord&) const = default;
};

namespace mcmember_component {
constexpr ComponentMask mgid = component(0), port_gid = component(1), qkey = component(2), mlid = component(3);
constexpr ComponentMask mtu_selector = component(4), mtu = component(5), traffic_class = component(6);
constexpr ComponentMask pkey = component(7), rate_selector = component(8), rate = component(9);
constexpr ComponentMask lifetime_selector = component(10), lifetime = component(11);
constexpr ComponentMask service_level = component(12), flow_label = component(13), hop_limit = component(14);
constexpr ComponentMask scope = component(15), join_state = component(16), proxy_join = component(17);
}  // namespace mcmember_component

}  // namespace verbline::wire
