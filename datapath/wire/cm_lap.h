// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// LAP: requests that the peer load an alternate path. "Local" is the sender.
///
///     byte  0  local id       4  remote id      8  reserved      12  remote QPN 24; response timeout 5, reserved 3
///          16  reserved      20  local LID     22  remote LID    24  local GID     40  remote GID
///          56  flow label 20 bits, reserved 4  59  traffic class
///          60  hop limit     61  reserved 2 bits, rate 6
///          62  SL 4 bits, subnet local 1, reserved 3             63  local ACK timeout 5 bits, reserved 3
///          64  private data, 168 bytes
///
/// IBTA volume 1, 12.8.1.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/cm.h"
#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct CmLap {
    static constexpr std::size_t size = cm_message_size;

    std::uint32_t local_id = 0;   ///< the sender's
    std::uint32_t remote_id = 0;  ///< the receiver's, as far as known
    Qpn remote_qpn{};
    std::uint8_t response_timeout = 0;  ///< 4.096 us * 2^n
    Lid local_lid{};
    Lid remote_lid{};
    Gid local_gid{};
    Gid remote_gid{};
    std::uint32_t flow_label = 0;
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t rate = 0;
    std::uint8_t service_level = 0;
    bool subnet_local = false;
    std::uint8_t ack_timeout = 0;  ///< 4.096 us * 2^n
    std::array<std::byte, 168> private_data{};

    using Layout =
        Fields<Field<&CmLap::local_id, at(0), 32>, Field<&CmLap::remote_id, at(4), 32>, Reserved<at(8), 32>,
               Field<&CmLap::remote_qpn, at(12), 24>, Field<&CmLap::response_timeout, at(15), 5>,
               Reserved<at(15, 5), 3>, Reserved<at(16), 32>, Field<&CmLap::local_lid, at(20), 16>,
               Field<&CmLap::remote_lid, at(22), 16>, Field<&CmLap::local_gid, at(24), 128>,
               Field<&CmLap::remote_gid, at(40), 128>, Field<&CmLap::flow_label, at(56), 20>, Reserved<at(58, 4), 4>,
               Field<&CmLap::traffic_class, at(59), 8>, Field<&CmLap::hop_limit, at(60), 8>, Reserved<at(61), 2>,
               Field<&CmLap::rate, at(61, 2), 6>, Field<&CmLap::service_level, at(62), 4>,
               Field<&CmLap::subnet_local, at(62, 4), 1>, Reserved<at(62, 5), 3>, Field<&CmLap::ack_timeout, at(63), 5>,
               Reserved<at(63, 5), 3>, Field<&CmLap::private_data, at(64), 1344>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<CmLap> parse(Bytes packet) { return read<CmLap>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const CmLap&) const = default;
};

}  // namespace verbline::wire
