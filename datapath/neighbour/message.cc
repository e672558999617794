// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/message.h"

#include "datapath/link/ip_gid.h"

namespace verbline::neighbour {

using wire::Gid;

Family family_of(const Gid& gid) {
    return link::ipv4_of(gid) ? Family::ipv4 : Family::ipv6;
}

bool is_host(const Gid& gid) {
    if (const auto address = link::ipv4_of(gid)) {
        const auto first = static_cast<std::uint32_t>(*address) >> 24;
        return first != 0 && first != 127 && first < 224;
    }
    const bool loopback_or_none = gid.prefix() == 0 && gid.interface_id() <= wire::Guid{1};
    return !gid.multicast() && !loopback_or_none;
}

Message request(const LinkAddress& own, const std::optional<Gid>& from, const Gid& subject) {
    return {.solicits = true, .source = from, .at = own, .subject = subject};
}

Message reply(const LinkAddress& own, const Gid& subject, const std::optional<Gid>& to) {
    const bool ipv4 = family_of(subject) == Family::ipv4;
    return {.source = subject,
            .at = own,
            .subject = to.value_or(ipv4 ? link::gid_of(wire::Ipv4Address{}) : Gid{}),
            .solicited = ipv4 || to.has_value()};
}

Message announcement(const LinkAddress& own, const Gid& subject) {
    return {.source = subject, .at = own};
}

}  // namespace verbline::neighbour
