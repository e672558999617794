// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Being pinged: ICMP and ICMPv6 echo requests made into their replies, where they lie.

#include <optional>

#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"

namespace verbline::neighbour {

/// Whom an echo request to the interface `own` is for. `frame` begins at the Ethernet header and holds at least all
/// headers. Nothing: it is something else, a fragment, or broken.
std::optional<wire::Gid> echo_target(wire::Bytes frame, const wire::MacAddress& own);

/// Of a frame that `echo_target` knows. Checksums are carried over, not verified: a broken request gives a broken
/// reply, which its sender discards. All payload stays untouched, also that in further buffers.
void make_echo_reply(wire::MutableBytes frame, const wire::MacAddress& own);

}  // namespace verbline::neighbour
