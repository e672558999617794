// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The receiver's side of the ring that a packet socket shares with the kernel (TPACKET_V2): looking for frames is a
/// load, giving a slot back a store. The kernel owns a slot until its status says TP_STATUS_USER.
///
/// Version 3 of the ring hands frames over by the block, at the earliest a millisecond after the first: too late for
/// us.

#include <cstdint>
#include <optional>
#include <span>

#include <linux/if_packet.h>

#include "datapath/wire/bytes.h"
#include "pmd/packet/socket.h"

namespace verbline::pmd::packet {

class ReceiveRing {
public:
    /// Unmaps `memory` in the end.
    ReceiveRing(std::span<std::byte> memory, const RingGeometry& geometry) : memory_(memory), geometry_(geometry) {}
    ReceiveRing(ReceiveRing&& other) noexcept;
    ReceiveRing& operator=(ReceiveRing&&) = delete;
    ~ReceiveRing();

    struct Frame {
        wire::Bytes bytes;                 ///< from the Ethernet header on; valid until `release`
        std::optional<std::uint32_t> tag;  ///< VLAN type and control word that the kernel has taken off the frame
        bool whole = true;                 ///< false: longer than a slot
    };
    /// The oldest frame that is there.
    std::optional<Frame> front() const;
    /// Gives its slot back to the kernel.
    void release();

private:
    tpacket2_hdr& header() const;

    std::span<std::byte> memory_;
    RingGeometry geometry_;
    std::uint32_t next_ = 0;
};

}  // namespace verbline::pmd::packet
