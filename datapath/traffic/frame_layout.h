// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Where the headers of a generated frame begin, in bytes from its own begin.
///
///     none      Ethernet │ IP     UDP, TCP │ stamp, zeros
///     roce_v1   Ethernet │ GRH             │ BTH DETH │ stamp, zeros                 │ ICRC │ padding
///     roce_v2   Ethernet │ IP     UDP      │ BTH DETH │ stamp, zeros                 │ ICRC │ padding
///     ipoib     Ethernet │ IP     UDP      │ BTH DETH │ IPoIB IP UDP, TCP │ stamp, zeros │ ICRC │ padding
///                        network            bth              ip l4          stamp
///
/// InfiniBand's payloads are multiples of four bytes (IBTA 9.2.3): up to three bytes that are left of a frame's size
/// are padding behind the packet, as Ethernet has behind short ones.

#include <cstddef>
#include <optional>

#include "datapath/traffic/frame_spec.h"
#include "datapath/traffic/stamp.h"
#include "datapath/wire/icrc.h"

namespace verbline::traffic {

struct FrameLayout {
    explicit FrameLayout(const FrameSpec& spec);

    std::size_t network;                           ///< behind Ethernet's header
    std::size_t bth = 0;                           ///< 0: none
    std::size_t ip;                                ///< whose addresses make flows; a GRH likewise
    std::size_t l4 = 0;                            ///< 0: none
    std::size_t ip_checksum = 0, l4_checksum = 0;  ///< 0: none; RoCE's UDP needs none beside the ICRC (IBTA A17)
    std::size_t stamp;
    std::optional<wire::IcrcOver> icrc;  ///< covers what begins at `network`

    std::size_t head() const { return stamp + Stamp::size; }  ///< all that is not zeros, but for the ICRC
    /// The end of the packet in a frame of `length` bytes without FCS.
    std::size_t packet_end(std::size_t length) const;
    /// The least length of such a frame.
    std::size_t least() const;

private:
    std::size_t payload() const;  ///< where InfiniBand's payload begins
};

}  // namespace verbline::traffic
