// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// SIDR_REQ: requests the QPN and Q_Key of the UD queue pair that serves a service id.
///
///     byte  0  request id     4  P_Key      6  reserved      8  service id, 8 bytes     16  private data, 216 bytes
///
/// IBTA volume 1, 12.11.1.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/cm.h"
#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct CmSidrReq {
    static constexpr std::size_t size = cm_message_size;

    std::uint32_t request_id = 0;
    PKey pkey{};
    CmServiceId service{};
    std::array<std::byte, 216> private_data{};

    using Layout =
        Fields<Field<&CmSidrReq::request_id, at(0), 32>, Field<&CmSidrReq::pkey, at(4), 16>, Reserved<at(6), 16>,
               Field<&CmSidrReq::service, at(8), 64>, Field<&CmSidrReq::private_data, at(16), 1728>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<CmSidrReq> parse(Bytes packet) { return read<CmSidrReq>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const CmSidrReq&) const = default;
};

}  // namespace verbline::wire
