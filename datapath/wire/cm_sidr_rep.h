// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// SIDR_REP: the QPN that serves the service id, or the reason for refusal.
///
///     byte  0  request id     4  status     5  information length      6  reserved (vendor id, as byte 11)
///           8  QPN 24; reserved            12  service id, 8 bytes    20  Q_Key
///          24  additional information, 72 bytes                       96  private data, 136 bytes
///
/// IBTA volume 1, 12.11.2.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/cm.h"
#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct CmSidrRep {
    static constexpr std::size_t size = cm_message_size;

    std::uint32_t request_id = 0;
    SidrStatus status{};
    std::uint8_t information_length = 0;  ///< valid bytes of `information`; not checked by `parse`
    Qpn qpn{};
    CmServiceId service{};
    QKey qkey{};
    std::array<std::byte, cm_additional_info_size> information{};
    std::array<std::byte, 136> private_data{};

    using Layout =
        Fields<Field<&CmSidrRep::request_id, at(0), 32>, Field<&CmSidrRep::status, at(4), 8>,
               Field<&CmSidrRep::information_length, at(5), 8>, Reserved<at(6), 16>, Field<&CmSidrRep::qpn, at(8), 24>,
               Reserved<at(11), 8>, Field<&CmSidrRep::service, at(12), 64>, Field<&CmSidrRep::qkey, at(20), 32>,
               Field<&CmSidrRep::information, at(24), 576>, Field<&CmSidrRep::private_data, at(96), 1088>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<CmSidrRep> parse(Bytes packet) { return read<CmSidrRep>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const CmSidrRep&) const = default;
};

}  // namespace verbline::wire
