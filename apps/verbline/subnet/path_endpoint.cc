// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/subnet/path_endpoint.h"

#include <fmt/format.h>

#include "datapath/wire/text.h"

namespace verbline::cli {

Result<PathEndpoint> parse_endpoint(std::string_view text, std::uint64_t subnet_prefix) {
    if (text.find(':') != std::string_view::npos) {
        if (const auto gid = wire::from_string<wire::Gid>(text)) return *gid;
    } else if (const auto lid = wire::from_string<wire::Lid>(text)) {
        if (*lid == wire::Lid{} || *lid >= wire::first_multicast_lid)
            return failure(EINVAL, fmt::format("{} is no port's LID; those are 1 to 0xbfff", text));
        return *lid;
    } else if (const auto guid = wire::from_string<wire::Guid>(text)) {
        return wire::Gid::of(subnet_prefix, *guid);
    }
    return failure(EINVAL, fmt::format("{} is no LID, GID or port GUID", text));
}

std::pair<wire::PathRecord, wire::ComponentMask> path_query(const PathEndpoint& a, const PathEndpoint& b,
                                                            wire::PKey pkey) {
    namespace component = wire::path_component;
    wire::PathRecord query{.pkey = pkey};
    wire::ComponentMask mask = component::pkey;
    if (const auto* lid = std::get_if<wire::Lid>(&a))
        query.source_lid = *lid, mask |= component::source_lid;
    else
        query.source_gid = std::get<wire::Gid>(a), mask |= component::source_gid;
    if (const auto* lid = std::get_if<wire::Lid>(&b))
        query.destination_lid = *lid, mask |= component::destination_lid;
    else
        query.destination_gid = std::get<wire::Gid>(b), mask |= component::destination_gid;
    return {query, mask};
}

}  // namespace verbline::cli
