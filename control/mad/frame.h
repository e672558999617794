// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The InfiniBand packet in which a MAD crosses a link, for captures: LRH, BTH, DETH, MAD, ICRC
/// and VCRC. Transports hand us the MAD alone; what they do not say (PSN, the far end's P_Key) is filled in plausibly.

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
using Frame = std::array<std::byte, frame_size>;

/// As a Sink is told of it. General services are at QP1 in the frame, wherever the transport keeps them.
Frame make_frame(Direction direction, MadBytes mad, const Address& far, const PortFacts& port);

}  // namespace verbline::mad
