// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Answers ping: turns ICMP and ICMPv6 echo requests into replies in place.

#include <optional>

#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"

namespace verbline::neighbour {

/// The address that an echo request to the interface `own` is sent to. `frame` begins at the Ethernet header and holds
/// at least all headers. `nullopt` if it is no echo request, a fragment, or malformed.
std::optional<wire::Gid> echo_target(wire::Bytes frame, const wire::MacAddress& own);

/// Turns a frame accepted by `echo_target` into its reply. Checksums are updated, not verified: a corrupt request gives
/// a corrupt reply, which its sender discards. The payload is not accessed, so it may lie in further segments.
void make_echo_reply(wire::MutableBytes frame, const wire::MacAddress& own);

}  // namespace verbline::neighbour
