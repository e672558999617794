// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// PathRecord of the SA: a path from one port to another.
///
///     byte  0  service id, 8 bytes
///           8  destination GID         24  source GID
///          40  destination LID         42  source LID
///          44  raw traffic 1 bit, reserved 3, flow label 20       47  hop limit
///          48  traffic class           49  reversible 1 bit, number of paths 7      50  P_Key
///          52  QoS class 12 bits, SL 4
///          54  MTU selector 2 bits, MTU 6      55  rate selector 2, rate 6
///          56  packet lifetime selector 2, packet lifetime 6      57  preference    58  reserved, 6 bytes
///
/// IBTA volume 1, 15.2.5.16.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/sa.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct PathRecord {
    static constexpr std::size_t size = 64;

    std::uint64_t service_id = 0;
    Gid destination_gid{};
    Gid source_gid{};
    Lid destination_lid{};
    Lid source_lid{};
    bool raw_traffic = false;
    std::uint32_t flow_label = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t traffic_class = 0;
    bool reversible = false;
    std::uint8_t path_count = 0;  ///< NumbPath: maximum number of paths to return, 1..127
    PKey pkey{};
    std::uint16_t qos_class = 0;
    std::uint8_t service_level = 0;
    Selector mtu_selector{};
    IbMtu mtu{};
    Selector rate_selector{};
    std::uint8_t rate = 0;  ///< coded: 2 is 2.5, 3 is 10, 16 is 100 Gb/s
    Selector lifetime_selector{};
    std::uint8_t lifetime = 0;  ///< 4.096 us * 2^n
    std::uint8_t preference = 0;

    using Layout = Fields<Field<&PathRecord::service_id, at(0), 64>, Field<&PathRecord::destination_gid, at(8), 128>,
                          Field<&PathRecord::source_gid, at(24), 128>, Field<&PathRecord::destination_lid, at(40), 16>,
                          Field<&PathRecord::source_lid, at(42), 16>, Field<&PathRecord::raw_traffic, at(44), 1>,
                          Reserved<at(44, 1), 3>, Field<&PathRecord::flow_label, at(44, 4), 20>,
                          Field<&PathRecord::hop_limit, at(47), 8>, Field<&PathRecord::traffic_class, at(48), 8>,
                          Field<&PathRecord::reversible, at(49), 1>, Field<&PathRecord::path_count, at(49, 1), 7>,
                          Field<&PathRecord::pkey, at(50), 16>, Field<&PathRecord::qos_class, at(52), 12>,
                          Field<&PathRecord::service_level, at(53, 4), 4>, Field<&PathRecord::mtu_selector, at(54), 2>,
                          Field<&PathRecord::mtu, at(54, 2), 6>, Field<&PathRecord::rate_selector, at(55), 2>,
                          Field<&PathRecord::rate, at(55, 2), 6>, Field<&PathRecord::lifetime_selector, at(56), 2>,
                          Field<&PathRecord::lifetime, at(56, 2), 6>, Field<&PathRecord::preference, at(57), 8>,
                          Reserved<at(58), 48>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<PathRecord> parse(Bytes packet) { return read<PathRecord>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const PathRecord&) const = default;
};

namespace path_component {
constexpr ComponentMask service_id = component(0) | component(1);  ///< its upper 8 bits and its lower 56
constexpr ComponentMask destination_gid = component(2), source_gid = component(3);
constexpr ComponentMask destination_lid = component(4), source_lid = component(5);
constexpr ComponentMask raw_traffic = component(6), flow_label = component(8), hop_limit = component(9);
constexpr ComponentMask traffic_class = component(10), reversible = component(11), path_count = component(12);
constexpr ComponentMask pkey = component(13), qos_class = component(14), service_level = component(15);
constexpr ComponentMask mtu_selector = component(16), mtu = component(17);
constexpr ComponentMask rate_selector = component(18), rate = component(19);
constexpr ComponentMask lifetime_selector = component(20), lifetime = component(21), preference = component(22);
}  // namespace path_component

}  // namespace verbline::wire
