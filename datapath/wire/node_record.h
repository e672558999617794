// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// NodeRecord of the SA: a node's NodeInfo and description.
///
///     NodeInfo     byte  0  base version   1  class version   2  node type   3  ports
///                        4  system image GUID   12  node GUID   20  port GUID
///                       28  partition cap       30  device id   32  revision   36  local port   37  vendor id 24
///     NodeRecord   byte  0  LID   2  reserved   4  NodeInfo   44  description, 64 bytes
///
/// IBTA volume 1, 14.2.5.3 and 15.2.5.2.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "datapath/wire/header.h"
#include "datapath/wire/sa.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

enum class NodeType : std::uint8_t { channel_adapter = 1, switch_ = 2, router = 3 };

struct NodeInfo {
    static constexpr std::size_t size = 40;

    std::uint8_t base_version = 1;
    std::uint8_t class_version = 1;
    NodeType type{};
    std::uint8_t ports = 0;
    Guid system_guid{};
    Guid node_guid{};
    Guid port_guid{};
    std::uint16_t partition_cap = 0;  ///< entries of the P_Key table
    std::uint16_t device_id = 0;
    std::uint32_t revision = 0;
    std::uint8_t local_port = 0;
    std::uint32_t vendor_id = 0;  ///< 24 bits

    using Layout = Fields<Field<&NodeInfo::base_version, at(0), 8>, Field<&NodeInfo::class_version, at(1), 8>,
                          Field<&NodeInfo::type, at(2), 8>, Field<&NodeInfo::ports, at(3), 8>,
                          Field<&NodeInfo::system_guid, at(4), 64>, Field<&NodeInfo::node_guid, at(12), 64>,
                          Field<&NodeInfo::port_guid, at(20), 64>, Field<&NodeInfo::partition_cap, at(28), 16>,
                          Field<&NodeInfo::device_id, at(30), 16>, Field<&NodeInfo::revision, at(32), 32>,
                          Field<&NodeInfo::local_port, at(36), 8>, Field<&NodeInfo::vendor_id, at(37), 24>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<NodeInfo> parse(Bytes packet) { return read<NodeInfo>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const NodeInfo&) const = default;
};

struct NodeRecord {
    static constexpr std::size_t size = 108;

    Lid lid{};
    NodeInfo info{};
    std::array<std::byte, 64> description{};  ///< padded with zeros; all 64 may be used

    using Layout = Fields<Field<&NodeRecord::lid, at(0), 16>, Reserved<at(2), 16>, Field<&NodeRecord::info, at(4), 320>,
                          Field<&NodeRecord::description, at(44), 512>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<NodeRecord> parse(Bytes packet) { return read<NodeRecord>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const NodeRecord&) const = default;
};

/// The description without its padding; refers to the record's bytes.
inline std::string_view description(const NodeRecord& record) {
    const auto end = std::ranges::find(record.description, std::byte{0});
    return {reinterpret_cast<const char*>(record.description.data()),
            static_cast<std::size_t>(end - record.description.begin())};
}

namespace node_component {
constexpr ComponentMask lid = component(0), type = component(4), system_guid = component(6), node_guid = component(7),
                        port_guid = component(8), description = component(14);
}

}  // namespace verbline::wire
