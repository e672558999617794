// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What programs write to a umad device and read from it: a header of rdma/ib_user_mad.h and a MAD, or with RMPP a
/// whole message of any length.
///
///     │ ib_user_mad_hdr: 64 bytes, or 56 without P_Key index │ MAD header 24 │ RMPP 12 │ class header │ data ... │
///
/// Structures here are in host byte order; MADs are as on the wire.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <rdma/ib_user_mad.h>

#include "datapath/wire/deth.h"
#include "datapath/wire/mad.h"
#include "datapath/wire/types.h"
#include "pmd/base/error.h"

namespace verbline::verbs {

/// The header's size depends on whether the program has asked for P_Key indices (IB_USER_MAD_ENABLE_PKEY).
enum class HeaderLayout : std::uint8_t { old, with_pkey };
constexpr std::size_t header_size(HeaderLayout layout) {
    return layout == HeaderLayout::old ? sizeof(ib_user_mad_hdr_old) : sizeof(ib_user_mad_hdr);
}

/// The GRH of a MAD; `gid_index` is of our own address and is set on sending only.
struct GlobalRoute {
    wire::Gid gid;
    std::uint8_t gid_index = 0, hop_limit = 0, traffic_class = 0;
    std::uint32_t flow_label = 0;
    bool operator==(const GlobalRoute&) const = default;
};

/// The far end of a MAD.
struct FarEnd {
    wire::Lid lid{};
    wire::Qpn qpn{};
    wire::QKey qkey{};
    std::uint8_t sl = 0, path_bits = 0;
    std::uint16_t pkey_index = 0;
    std::optional<GlobalRoute> route{};
    bool operator==(const FarEnd&) const = default;
};

/// A message that a program has written.
struct Outgoing {
    std::uint32_t agent = 0;
    std::uint32_t timeout_ms = 0;  ///< 0: no answer is waited for
    std::uint32_t retries = 0;
    FarEnd to;
    std::vector<std::byte> mad;  ///< 36 bytes or more
};

/// A message for a program to read.
struct Incoming {
    std::uint32_t agent = 0;
    std::uint32_t status = 0;                   ///< ETIMEDOUT: the program's own request, which was not answered
    std::uint32_t timeout_ms = 0, retries = 0;  ///< of that request
    FarEnd from;
    std::vector<std::byte> mad;
};

/// Least bytes of a written message behind its header: MAD header and RMPP header.
constexpr std::size_t least_written = wire::Mad::size + 12;
/// Most bytes of a message; a bound of ours, since memory is taken for it.
constexpr std::size_t longest_message = std::size_t{16} << 20;

/// EINVAL: shorter than any MAD; ENOMEM: longer than any message.
Result<void> check_length(std::size_t bytes, HeaderLayout layout);
/// `bytes`: of a length that has been checked.
Outgoing parse_outgoing(std::span<const std::byte> bytes, HeaderLayout layout);
/// The header to be read; its first `header_size(layout)` bytes are used.
std::array<std::byte, sizeof(ib_user_mad_hdr)> header_of(const Incoming& message, HeaderLayout layout);

/// How many bytes of the message fit into a read of `room` bytes, behind the header. EINVAL: not even its first MAD;
/// ENOSPC: that alone, from which the program learns the whole length (and the message stays queued).
struct Readable {
    std::size_t bytes = 0;
    int error = 0;
};
Readable readable(const Incoming& message, std::size_t room, HeaderLayout layout);

}  // namespace verbline::verbs
