// SPDX-License-Identifier: BSD-3-Clause
// Messages of subnet_messages.h.
#include <algorithm>
#include <array>
#include <utility>

#include "control/hub/protocol_layout.h"

namespace verbline::hub {
namespace {

struct [[gnu::packed]] AskSubnetPortMessage {
    Header header;
};
struct [[gnu::packed]] GroupFields {
    std::uint16_t mlid, pkey;
    std::uint32_t qkey, flow_label;
    std::uint8_t mtu, rate, lifetime, service_level, hop_limit, traffic_class;
};
struct [[gnu::packed]] SubnetPortMessage {
    Header header;
    std::uint16_t lid, sm_lid;
    std::uint8_t sm_sl, lmc, state;
    std::uint16_t mtu;
    std::uint64_t guid, node_guid, subnet_prefix;
    std::uint32_t capabilities, reregistrations;
    std::uint8_t pkey_count;
    std::array<std::uint16_t, max_pkeys> pkeys;
    std::uint8_t has_broadcast;
    GroupFields broadcast;
};
struct [[gnu::packed]] FindNeighbourMessage {
    Header header;
    GidBytes to;
    std::uint16_t pkey;
};
struct [[gnu::packed]] NeighbourFoundMessage {
    Header header;
    GidBytes to, gid;
    std::uint16_t pkey;
    std::int32_t code;
};
struct [[gnu::packed]] FindPathMessage {
    Header header;
    GidBytes to;
    std::uint16_t pkey;
};
struct [[gnu::packed]] PathFoundMessage {
    Header header;
    GidBytes to;
    std::uint16_t pkey;
    std::array<std::byte, wire::PathRecord::size> path;
    std::int32_t code;
};
struct [[gnu::packed]] JoinSubnetGroupMessage {
    Header header;
    GidBytes mgid;
    std::uint32_t user;
    std::uint8_t send_only, has_qkey;
    std::uint16_t pkey;
    std::uint32_t qkey;
};
struct [[gnu::packed]] SubnetGroupMessage {
    Header header;
    GidBytes mgid;
    std::uint32_t user;
    GroupFields group;
    std::int32_t code;
};
struct [[gnu::packed]] LeaveSubnetGroupMessage {
    Header header;
    GidBytes mgid;
    std::uint32_t user;
};
static_assert(sizeof(SubnetPortMessage) <= largest_message);

GroupFields fields_of(const sa::Group& group) {
    return {.mlid = std::to_underlying(group.mlid),
            .pkey = std::to_underlying(group.pkey),
            .qkey = std::to_underlying(group.qkey),
            .flow_label = group.flow_label,
            .mtu = std::to_underlying(group.mtu),
            .rate = group.rate,
            .lifetime = group.lifetime,
            .service_level = group.service_level,
            .hop_limit = group.hop_limit,
            .traffic_class = group.traffic_class};
}

/// None: no group has such a record.
std::optional<sa::Group> group_of(const GroupFields& in) {
    if (!wire::is_multicast(wire::Lid{in.mlid}) || in.service_level > 15 || in.flow_label > 0xf'ffff) {
        return std::nullopt;
    }
    if (wire::mtu_bytes(static_cast<wire::IbMtu>(in.mtu)) == 0) return std::nullopt;
    return sa::Group{.mlid = wire::Lid{in.mlid},
                     .qkey = wire::QKey{in.qkey},
                     .pkey = wire::PKey{in.pkey},
                     .mtu = static_cast<wire::IbMtu>(in.mtu),
                     .rate = in.rate,
                     .lifetime = in.lifetime,
                     .service_level = in.service_level,
                     .hop_limit = in.hop_limit,
                     .traffic_class = in.traffic_class,
                     .flow_label = in.flow_label};
}

std::optional<Message> value(const AskSubnetPortMessage& /*in*/) {
    return AskSubnetPort{};
}

std::optional<Message> value(const SubnetPortMessage& in) {
    if (in.lid == 0 || wire::is_multicast(wire::Lid{in.lid}) || in.pkey_count > max_pkeys || in.has_broadcast > 1 ||
        in.sm_sl > 15 || in.lmc > 7 || in.state > std::to_underlying(wire::PortState::active)) {
        return std::nullopt;
    }
    SubnetPort port{.facts = {.lid = wire::Lid{in.lid},
                              .sm_lid = wire::Lid{in.sm_lid},
                              .sm_sl = in.sm_sl,
                              .lmc = in.lmc,
                              .guid = wire::Guid{in.guid},
                              .node_guid = wire::Guid{in.node_guid},
                              .capabilities = in.capabilities,
                              .subnet_prefix = in.subnet_prefix,
                              .pkeys = {},
                              .state = static_cast<wire::PortState>(in.state),
                              .mtu = in.mtu},
                    .reregistrations = in.reregistrations,
                    .broadcast = std::nullopt};
    for (std::size_t i = 0; i < in.pkey_count; ++i) port.facts.pkeys.push_back(wire::PKey{in.pkeys[i]});
    if (in.has_broadcast == 1) {
        port.broadcast = group_of(in.broadcast);
        if (!port.broadcast) return std::nullopt;
    }
    return port;
}

std::optional<Message> value(const FindNeighbourMessage& in) {
    return FindNeighbour{{in.to}, wire::PKey{in.pkey}};
}
std::optional<Message> value(const NeighbourFoundMessage& in) {
    if (in.code < 0) return std::nullopt;
    return NeighbourFound{{in.to}, {in.gid}, in.code, wire::PKey{in.pkey}};
}
std::optional<Message> value(const FindPathMessage& in) {
    return FindPath{{in.to}, wire::PKey{in.pkey}};
}
std::optional<Message> value(const PathFoundMessage& in) {
    const auto path = wire::PathRecord::parse(in.path);
    if (!path || in.code < 0) return std::nullopt;
    return PathFound{{in.to}, wire::PKey{in.pkey}, *path, in.code};
}
std::optional<Message> value(const JoinSubnetGroupMessage& in) {
    if (in.send_only > 1 || in.has_qkey > 1) return std::nullopt;
    return JoinSubnetGroup{.mgid = {in.mgid},
                           .user = in.user,
                           .send_only = in.send_only == 1,
                           .pkey = wire::PKey{in.pkey},
                           .qkey = in.has_qkey == 1 ? std::optional(wire::QKey{in.qkey}) : std::nullopt};
}
std::optional<Message> value(const SubnetGroupMessage& in) {
    if (in.code < 0) return std::nullopt;
    const auto group = in.code == 0 ? group_of(in.group) : std::optional(sa::Group{});
    if (!group) return std::nullopt;
    return SubnetGroup{.mgid = {in.mgid}, .user = in.user, .group = *group, .code = in.code};
}
std::optional<Message> value(const LeaveSubnetGroupMessage& in) {
    return LeaveSubnetGroup{{in.mgid}, in.user};
}

}  // namespace

std::vector<std::byte> encode_subnet(const AskSubnetPort& /*message*/) {
    return bytes_of(AskSubnetPortMessage{}, Type::ask_subnet_port);
}
std::vector<std::byte> encode_subnet(const SubnetPort& message) {
    const auto& facts = message.facts;
    SubnetPortMessage out{.header = {},
                          .lid = std::to_underlying(facts.lid),
                          .sm_lid = std::to_underlying(facts.sm_lid),
                          .sm_sl = facts.sm_sl,
                          .lmc = facts.lmc,
                          .state = std::to_underlying(facts.state),
                          .mtu = facts.mtu,
                          .guid = std::to_underlying(facts.guid),
                          .node_guid = std::to_underlying(facts.node_guid),
                          .subnet_prefix = facts.subnet_prefix,
                          .capabilities = facts.capabilities,
                          .reregistrations = message.reregistrations,
                          .pkey_count = static_cast<std::uint8_t>(std::min(facts.pkeys.size(), max_pkeys)),
                          .pkeys = {},
                          .has_broadcast = message.broadcast.has_value(),
                          .broadcast = message.broadcast ? fields_of(*message.broadcast) : GroupFields{}};
    for (std::size_t i = 0; i < out.pkey_count; ++i) out.pkeys[i] = std::to_underlying(facts.pkeys[i]);
    return bytes_of(out, Type::subnet_port);
}
std::vector<std::byte> encode_subnet(const FindNeighbour& message) {
    return bytes_of(
        FindNeighbourMessage{.header = {}, .to = message.to.bytes, .pkey = std::to_underlying(message.pkey)},
        Type::find_neighbour);
}
std::vector<std::byte> encode_subnet(const NeighbourFound& message) {
    return bytes_of(NeighbourFoundMessage{.header = {},
                                          .to = message.to.bytes,
                                          .gid = message.gid.bytes,
                                          .pkey = std::to_underlying(message.pkey),
                                          .code = message.code},
                    Type::neighbour_found);
}
std::vector<std::byte> encode_subnet(const FindPath& message) {
    return bytes_of(FindPathMessage{.header = {}, .to = message.to.bytes, .pkey = std::to_underlying(message.pkey)},
                    Type::find_path);
}
std::vector<std::byte> encode_subnet(const PathFound& message) {
    PathFoundMessage out{.header = {},
                         .to = message.to.bytes,
                         .pkey = std::to_underlying(message.pkey),
                         .path = {},
                         .code = message.code};
    message.path.emit(out.path);
    return bytes_of(out, Type::path_found);
}
std::vector<std::byte> encode_subnet(const JoinSubnetGroup& message) {
    return bytes_of(JoinSubnetGroupMessage{.header = {},
                                           .mgid = message.mgid.bytes,
                                           .user = message.user,
                                           .send_only = message.send_only,
                                           .has_qkey = message.qkey.has_value(),
                                           .pkey = std::to_underlying(message.pkey),
                                           .qkey = std::to_underlying(message.qkey.value_or(wire::QKey{}))},
                    Type::join_subnet_group);
}
std::vector<std::byte> encode_subnet(const SubnetGroup& message) {
    return bytes_of(SubnetGroupMessage{.header = {},
                                       .mgid = message.mgid.bytes,
                                       .user = message.user,
                                       .group = fields_of(message.group),
                                       .code = message.code},
                    Type::subnet_group);
}
std::vector<std::byte> encode_subnet(const LeaveSubnetGroup& message) {
    return bytes_of(LeaveSubnetGroupMessage{.header = {}, .mgid = message.mgid.bytes, .user = message.user},
                    Type::leave_subnet_group);
}

std::expected<Message, Malformed> decode_subnet(Type type, std::span<const std::byte> bytes) {
    switch (type) {
        case Type::ask_subnet_port: return read_as<AskSubnetPortMessage>(bytes, value);
        case Type::subnet_port: return read_as<SubnetPortMessage>(bytes, value);
        case Type::find_neighbour: return read_as<FindNeighbourMessage>(bytes, value);
        case Type::neighbour_found: return read_as<NeighbourFoundMessage>(bytes, value);
        case Type::find_path: return read_as<FindPathMessage>(bytes, value);
        case Type::path_found: return read_as<PathFoundMessage>(bytes, value);
        case Type::join_subnet_group: return read_as<JoinSubnetGroupMessage>(bytes, value);
        case Type::subnet_group: return read_as<SubnetGroupMessage>(bytes, value);
        case Type::leave_subnet_group: return read_as<LeaveSubnetGroupMessage>(bytes, value);
        default: return std::unexpected(Malformed::foreign);
    }
}

}  // namespace verbline::hub
