// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Copies payload between packets and registered memory. Rights, range and protection domain are checked for every
/// packet; an unmapped page is reported as local_protection_error (memory/guarded.h).

#include <cstdint>
#include <span>

#include "datapath/memory/key_table.h"
#include "datapath/transport/queue_pair_context.h"
#include "datapath/transport/send_queue.h"
#include "datapath/transport/work.h"
#include "datapath/wire/bytes.h"

namespace verbline::transport {

/// Copies `out.size()` bytes of a request's data, from byte `offset` of it, into a packet.
Status gather(const SendWork& work, std::uint32_t offset, wire::MutableBytes out, const QueuePairContext& qp,
              const memory::KeyTable& keys) noexcept;

/// Copies a packet's payload into the segments of a request, at byte `offset` of them. local_length_error: the segments
/// are too short; what fits has been copied.
Status scatter(std::span<const Segment> segments, std::uint64_t offset, wire::Bytes in, memory::PdId pd, wire::Qpn qpn,
               const memory::KeyTable& keys) noexcept;

/// The same for data in several pieces, at the beginning of the segments. Checked once if the first segment holds it
/// all, as for nearly every datagram.
Status scatter(std::span<const Segment> segments, std::span<const wire::Bytes> pieces, memory::PdId pd, wire::Qpn qpn,
               const memory::KeyTable& keys) noexcept;

}  // namespace verbline::transport
