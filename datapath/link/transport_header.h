// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Finds the BTH of a frame on any carrier, for those who pass frames on and leave their verification to the receiver.
/// arrival.h verifies frames that are to be received.

#include <cstddef>
#include <optional>

#include "datapath/wire/bth.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/header.h"

namespace verbline::link {

/// Where the BTH of an Ethernet frame is, which may carry one VLAN tag: RoCE v2, RoCE v1, or the soft fabric. Nullopt:
/// it carries none, or not the whole of it. Checks no more than that: neither checksums nor lengths nor the BTH itself.
std::optional<std::size_t> transport_header_at(wire::Bytes frame) noexcept;

/// The BTH at an offset that `transport_header_at` has returned.
inline wire::View<wire::Bth> transport_header(wire::Bytes frame, std::size_t at) noexcept {
    return *wire::View<wire::Bth>::over(frame.subspan(at));
}

}  // namespace verbline::link
