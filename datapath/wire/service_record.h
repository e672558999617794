// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// ServiceRecord: a service registered with the SA under a name or an id.
///
///     byte  0  service id, 8 bytes      8  GID         24  P_Key     26  reserved     28  lease, seconds
///          32  key, 16 bytes           48  name, 64 bytes
///         112  data: 16 of 8 bits, 8 of 16, 4 of 32, 2 of 64; here as 64 bytes
///
/// IBTA volume 1, 15.2.5.14.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/sa.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct ServiceRecord {
    static constexpr std::size_t size = 176;
    static constexpr std::uint32_t for_ever = 0xffff'ffff;

    std::uint64_t service_id = 0;
    Gid gid{};
    PKey pkey{};
    std::uint32_t lease = for_ever;
    std::array<std::byte, 16> key{};
    std::array<std::byte, 64> name{};  ///< UTF-8, padded with zeros
    std::array<std::byte, 64> data{};

    using Layout = Fields<Field<&ServiceRecord::service_id, at(0), 64>, Field<&ServiceRecord::gid, at(8), 128>,
                          Field<&ServiceRecord::pkey, at(24), 16>, Reserved<at(26), 16>,
                          Field<&ServiceRecord::lease, at(28), 32>, Field<&ServiceRecord::key, at(32), 128>,
                          Field<&ServiceRecord::name, at(48), 512>, Field<&ServiceRecord::data, at(112), 512>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<ServiceRecord> parse(Bytes packet) { return read<ServiceRecord>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const ServiceRecord&) const = default;
};

namespace service_component {
constexpr ComponentMask service_id = component(0), gid = component(1), pkey = component(2), lease = component(4),
                        key = component(5), name = component(6);
}

}  // namespace verbline::wire
