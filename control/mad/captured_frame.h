// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The InfiniBand packet that carries a MAD on a link, for captures: LRH, BTH, DETH, MAD, ICRC and VCRC. Transports
/// supply only the MAD and addresses; other fields (PSN, the far end's P_Key) get plausible values.

#include <array>
#include <cstddef>

#include "control/mad/transport.h"
#include "datapath/wire/bth.h"
#include "datapath/wire/deth.h"
#include "datapath/wire/icrc.h"
#include "datapath/wire/lrh.h"
#include "datapath/wire/vcrc.h"

namespace verbline::mad {

constexpr std::size_t frame_size =
    wire::Lrh::size + wire::Bth::size + wire::Deth::size + wire::mad_size + wire::icrc_size + wire::vcrc_size;
using CapturedFrame = std::array<std::byte, frame_size>;

/// Builds the frame; the arguments are those of a Sink. General services have QPN 1 in the frame, independent of the
/// QPN the transport uses.
CapturedFrame make_frame(Direction direction, MadBytes mad, const MadAddress& far, const PortFacts& port);

}  // namespace verbline::mad
