// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Addresses and frames that the tests of this folder share.

#include <cstddef>

#include "datapath/link/gid_table.h"
#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/neighbours.h"
#include "datapath/wire/text.h"

namespace verbline::neighbour {

inline wire::Gid gid(std::string_view text) {
    if (const auto v4 = wire::from_string<wire::Ipv4Address>(text)) return link::gid_of(*v4);
    return wire::from_string<wire::Gid>(text).value();
}
inline wire::MacAddress mac(unsigned n) {
    return {{std::byte{2}, {}, {}, {}, {}, static_cast<std::byte>(n)}};
}

inline const wire::MacAddress us = mac(1), them = mac(2);

inline Frame make_request(const wire::MacAddress& own, const std::optional<wire::Gid>& from, const wire::Gid& subject,
                          const std::optional<wire::MacAddress>& to = std::nullopt) {
    return write_frame(request(own, from, subject), to);
}
/// To `to` at `mac`; none: to a probe.
inline Frame make_reply(const wire::MacAddress& own, const wire::Gid& subject, const std::optional<wire::Gid>& to,
                        const wire::MacAddress& mac) {
    const bool to_all = !to && family_of(subject) == Family::ipv6;
    return write_frame(reply(own, subject, to), to_all ? std::nullopt : std::optional(mac));
}
inline Frame make_announcement(const wire::MacAddress& own, const wire::Gid& subject) {
    return write_frame(announcement(own, subject));
}

}  // namespace verbline::neighbour
