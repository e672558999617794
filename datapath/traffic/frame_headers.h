// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Writes the headers of a generated frame, without what differs from frame to frame.

#include <cstddef>
#include <cstdint>

#include "datapath/traffic/frame_layout.h"
#include "datapath/traffic/frame_spec.h"
#include "datapath/wire/bytes.h"

namespace verbline::traffic {

/// Of what the checksums of the IPv4 and the L4 header that `FrameLayout::ip` and `l4` name cover: one's complement
/// sums, 16 bits; the stamp's is included. 0 where there is no checksum.
struct HeaderSums {
    std::uint32_t ip = 0, l4 = 0;
};

/// `head` is zeros, and the frame `length` bytes long without FCS. Fields that vary, and the checksums that the sums
/// are for, are left zero; the header around an IPoIB packet is complete.
HeaderSums emit_headers(const FrameSpec& spec, const FrameLayout& at, std::size_t length, wire::MutableBytes head);

}  // namespace verbline::traffic
