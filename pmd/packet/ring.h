// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The receive ring that a packet socket shares with the kernel (TPACKET_V2): checking for a frame is a load, returning
/// a slot a store. The kernel owns a slot until its status contains TP_STATUS_USER.
///
/// TPACKET_V3 delivers frames in blocks, at the earliest a millisecond after the first: too high a latency here.

#include <cstdint>
#include <optional>
#include <span>

#include <linux/if_packet.h>

#include "datapath/wire/bytes.h"
#include "pmd/packet/socket.h"

namespace verbline::pmd::packet {

class ReceiveRing {
public:
    /// Takes ownership of the mapping `memory`, and unmaps it on destruction.
    ReceiveRing(std::span<std::byte> memory, const RingGeometry& geometry) : memory_(memory), geometry_(geometry) {}
    ReceiveRing(ReceiveRing&& other) noexcept;
    ReceiveRing& operator=(ReceiveRing&&) = delete;
    ~ReceiveRing();

    struct Frame {
        wire::Bytes bytes;                 ///< from the Ethernet header on; valid until `release`
        std::optional<std::uint32_t> tag;  ///< VLAN type and control word that the kernel has removed from the frame
        bool whole = true;                 ///< false: longer than a slot
    };
    /// The oldest received frame, if any.
    std::optional<Frame> front() const;
    /// Returns the slot of `front` to the kernel.
    void release();

private:
    tpacket2_hdr& header() const;

    std::span<std::byte> memory_;
    RingGeometry geometry_;
    std::uint32_t next_ = 0;
};

}  // namespace verbline::pmd::packet
