// SPDX-License-Identifier: BSD-3-Clause
#include "control/rdmacm/path.h"

#include <algorithm>

namespace verbline::rdmacm {
namespace {

constexpr std::uint8_t routed_hop_limit = 64;

/// A 20-bit hash of the connection, equal in both directions, by which routers and switches spread flows.
constexpr std::uint32_t flow_label_of(std::uint16_t one, std::uint16_t other) {
    std::uint64_t mixed = std::uint64_t{one} * other;
    mixed ^= mixed >> 20;
    mixed ^= mixed >> 40;
    return static_cast<std::uint32_t>(mixed & 0xfffff);
}

}  // namespace

wire::PathRecord roce_path_record(const RocePath& path, const NetworkPort::Facts& facts) {
    return {
        .destination_gid = path.destination,
        .source_gid = path.source,
        .flow_label = flow_label_of(path.source_port, path.destination_port),
        .hop_limit = routed_hop_limit,
        .traffic_class = path.type_of_service,
        .reversible = true,
        .path_count = 1,
        .pkey = wire::PKey{0xffff},
        .mtu_selector = wire::Selector::exactly,
        .mtu = static_cast<wire::IbMtu>(facts.mtu),
        .rate_selector = wire::Selector::exactly,
        .rate = facts.rate,
        .lifetime_selector = wire::Selector::exactly,
        .lifetime = path.packet_lifetime,
    };
}

bool global(const wire::PathRecord& record, link::GidTable::Kind kind) {
    return kind == link::GidTable::Kind::roce || record.hop_limit > 1;
}

cm::ConnectionPath to_cm_path(const wire::PathRecord& record, link::GidTable::Kind kind, unsigned gid_index,
                              const wire::MacAddress& mac) {
    const bool roce = kind == link::GidTable::Kind::roce;
    cm::ConnectionPath path;
    path.route = {.gid_index = gid_index,
                  .address = {.dlid = record.destination_lid,
                              .sl = record.service_level,
                              .global = global(record, kind),
                              .dgid = record.destination_gid,
                              .hop_limit = record.hop_limit,
                              .traffic_class = record.traffic_class,
                              .flow_label = record.flow_label},
                  .mac = mac};
    path.local_gid = record.source_gid;
    path.remote_gid = record.destination_gid;
    path.local_lid = roce ? wire::permissive_lid : record.source_lid;
    path.remote_lid = roce ? wire::permissive_lid : record.destination_lid;
    path.flow_label = record.flow_label;
    path.rate = record.rate;
    path.traffic_class = record.traffic_class;
    path.hop_limit = record.hop_limit;
    path.sl = record.service_level;
    path.subnet_local = !global(record, kind);
    path.packet_lifetime = record.lifetime;
    return path;
}

wire::PathRecord to_record(const cm::ConnectionPath& path, wire::PKey pkey, std::uint8_t mtu) {
    const auto known = [](wire::Lid lid) { return lid == wire::permissive_lid ? wire::Lid{} : lid; };
    return {
        .destination_gid = path.remote_gid,
        .source_gid = path.local_gid,
        .destination_lid = known(path.remote_lid),
        .source_lid = known(path.local_lid),
        .flow_label = path.flow_label,
        .hop_limit = path.hop_limit,
        .traffic_class = path.traffic_class,
        .reversible = true,
        .path_count = 1,
        .pkey = pkey,
        .service_level = path.sl,
        .mtu_selector = wire::Selector::exactly,
        .mtu = static_cast<wire::IbMtu>(mtu),
        .rate_selector = wire::Selector::exactly,
        .rate = path.rate,
        .lifetime_selector = wire::Selector::exactly,
        .lifetime = path.packet_lifetime,
    };
}

std::uint8_t acknowledgement_timeout(std::uint8_t packet_lifetime, std::uint8_t peer_delay) {
    // The sum of two powers of two is at most twice the larger: one more only if they are about equal.
    const unsigned there_and_back = packet_lifetime + 1u, delay = peer_delay;
    const unsigned larger = std::max(there_and_back, delay), smaller = std::min(there_and_back, delay);
    return static_cast<std::uint8_t>(std::min(31u, larger + (smaller + 1 >= larger ? 1u : 0u)));
}

}  // namespace verbline::rdmacm
