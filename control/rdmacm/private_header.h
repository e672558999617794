// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Private data of REQ and SIDR_REQ: the IP CM header (wire/ip_cm_header.h), then the user's data. AF_IB ends send no
/// header.

#include <cstddef>
#include <optional>
#include <span>

#include "control/cm/parameters.h"
#include "control/rdmacm/address.h"
#include "pmd/base/error.h"

namespace verbline::rdmacm {

constexpr std::size_t request_data_size = 92, service_request_data_size = 216;  ///< header included

/// Header and user data together. EINVAL: more than `room` bytes in all.
Result<cm::PrivateData> with_header(const SocketAddress& source, const SocketAddress& destination,
                                    std::span<const std::byte> user, std::size_t room);

struct Ends {
    SocketAddress source;       ///< of the requester
    SocketAddress destination;  ///< without the port, which is in the service id
};
/// None: no IP CM header, or an unknown IP version.
std::optional<Ends> parse_header(std::span<const std::byte> private_data);

/// The user's private data behind the header, padding included.
cm::PrivateData without_header(std::span<const std::byte> private_data);

}  // namespace verbline::rdmacm
