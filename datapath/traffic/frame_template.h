// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Frames, ready but for what differs from one to the next: a prototype of each size, and the fields that vary.
///
/// The sums from which the checksums follow are kept beside a prototype, without the fields that vary: what a frame
/// puts there is added, so that a checksum costs a few additions, whatever the frame's size. The payload behind the
/// stamp is zeros, which no sum notices, and which the ICRC of RoCE takes as one multiplication.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "datapath/traffic/frame_layout.h"
#include "datapath/traffic/frame_spec.h"
#include "datapath/traffic/size_mix.h"
#include "datapath/wire/icrc.h"
#include "pmd/base/error.h"

namespace verbline::traffic {

/// Room for headers and stamp of the longest kind: IPoIB over IPv6 with a tag, and TCP over IPv6 in it.
constexpr std::size_t max_head = 192;

/// A field that differs from flow to flow. Of a MAC or an IPv6 address it is the last four bytes.
struct VaryingField {
    std::uint16_t at = 0;     ///< in the frame
    std::uint8_t width = 2;   ///< 2 or 4 bytes
    bool in_ip_sum = false;   ///< covered by the checksum of the IPv4 header
    bool in_l4_sum = false;   ///< covered by that of UDP or TCP
    std::uint32_t first = 0;  ///< values: first, first + 1, ...
    std::uint32_t count = 1;
};

struct Prototype {
    std::array<std::byte, max_head> head{};  ///< fields that vary, checksums and stamp are zero
    std::uint16_t length = 0;                ///< of the frame without its FCS
    std::uint32_t ip_sum = 0, l4_sum = 0;    ///< one's complement, 16 bits, of all that is not zero, the stamp included
    std::uint16_t icrc_at = 0;               ///< behind the zeros
};

/// What the ICRC of every frame is made over.
struct CoveredByIcrc {
    wire::IcrcOver over{};
    std::size_t begin = 0, size = 0;       ///< in the head, from the network header to the stamp's end
    std::vector<wire::IcrcZeros> zeros{};  ///< behind that, by size
};

class FrameTemplate {
public:
    /// EINVAL: a size has no room for the headers and the stamp.
    static Result<FrameTemplate> make(const FrameSpec& spec, const SizeMix& sizes);

    const std::vector<Prototype>& prototypes() const { return prototypes_; }  ///< by size
    const std::vector<std::uint16_t>& period() const { return period_; }      ///< which size follows which
    const std::vector<VaryingField>& fields() const { return fields_; }       ///< the one that counts fastest first
    std::uint64_t flows() const { return flows_; }                            ///< different ones that the fields make

    std::size_t ip_checksum_at() const { return ip_checksum_at_; }  ///< 0: there is none
    std::size_t l4_checksum_at() const { return l4_checksum_at_; }  ///< likewise
    std::size_t stamp_at() const { return stamp_at_; }
    Transport transport() const { return transport_; }
    const std::optional<CoveredByIcrc>& icrc() const { return icrc_; }  ///< nullopt: there is none

private:
    void vary_fields(const FrameSpec& spec, const FrameLayout& at);

    std::vector<Prototype> prototypes_;
    std::vector<std::uint16_t> period_;
    std::vector<VaryingField> fields_;
    std::uint64_t flows_ = 1;
    std::size_t ip_checksum_at_ = 0, l4_checksum_at_ = 0, stamp_at_ = 0;
    Transport transport_ = Transport::udp;
    std::optional<CoveredByIcrc> icrc_;
};

}  // namespace verbline::traffic
