// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What all messages have in common: the header, and how fixed layouts become bytes and values. Internal to
/// protocol.cc and protocol_*.cc.

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "control/hub/protocol.h"

namespace verbline::hub {

constexpr std::uint32_t mark = 0x76'6c'68'75;  // "vlhu"

enum class Type : std::uint16_t {
    join = 1,
    granted,
    refused,
    group,
    done,
    reserve,
    reserved,
    release,
    direct,
    direct_granted,
    direct_refused,
    direct_offer,
    direct_end,
    resolve,
    resolved,
    addresses,
    open_xrc_domain,
    xrc_domain_opened,
    close_xrc_domain,
    create_xrc_target,
    xrc_target_made,
    open_xrc_target,
    close_xrc_target,
    xrc_target,
    xrc_target_taken,
    ask_subnet_port,
    subnet_port,
    find_neighbour,
    neighbour_found,
    find_path,
    path_found,
    join_subnet_group,
    subnet_group,
    leave_subnet_group,
    rebind,
};

struct [[gnu::packed]] Header {
    std::uint32_t mark;
    std::uint16_t version;
    Type type;
};

using Mac = std::array<std::byte, 6>;
using GidBytes = std::array<std::byte, 16>;

template <class Fields>
std::vector<std::byte> bytes_of(Fields fields, Type type) {
    fields.header = {mark, version, type};
    std::vector<std::byte> bytes(sizeof(fields));
    std::memcpy(bytes.data(), &fields, sizeof(fields));
    return bytes;
}

/// `to_value` returns nullopt for fields that no message has.
template <class Fields>
std::expected<Message, Malformed> read_as(std::span<const std::byte> bytes,
                                          std::optional<Message> (*to_value)(const Fields&)) {
    if (bytes.size() != sizeof(Fields)) return std::unexpected(Malformed::foreign);
    Fields fields;
    std::memcpy(&fields, bytes.data(), sizeof(fields));
    auto message = to_value(fields);
    if (!message) return std::unexpected(Malformed::foreign);
    return std::move(*message);
}

/// Those of port_messages.h.
template <class T>
concept PortMessage =
    std::same_as<T, Reserve> || std::same_as<T, Reserved> || std::same_as<T, Rebind> || std::same_as<T, Release>;

std::vector<std::byte> encode_port(const Reserve& message);
std::vector<std::byte> encode_port(const Reserved& message);
std::vector<std::byte> encode_port(const Rebind& message);
std::vector<std::byte> encode_port(const Release& message);
/// Foreign, if `type` is none of theirs.
std::expected<Message, Malformed> decode_port(Type type, std::span<const std::byte> bytes);

/// Those of xrc_messages.h.
template <class T>
concept XrcMessage =
    std::same_as<T, OpenXrcDomain> || std::same_as<T, XrcDomainOpened> || std::same_as<T, CloseXrcDomain> ||
    std::same_as<T, CreateXrcTarget> || std::same_as<T, XrcTargetMade> || std::same_as<T, OpenXrcTarget> ||
    std::same_as<T, CloseXrcTarget> || std::same_as<T, XrcTarget> || std::same_as<T, XrcTargetTaken>;

std::vector<std::byte> encode_xrc(const OpenXrcDomain& message);
std::vector<std::byte> encode_xrc(const XrcDomainOpened& message);
std::vector<std::byte> encode_xrc(const CloseXrcDomain& message);
std::vector<std::byte> encode_xrc(const CreateXrcTarget& message);
std::vector<std::byte> encode_xrc(const XrcTargetMade& message);
std::vector<std::byte> encode_xrc(const OpenXrcTarget& message);
std::vector<std::byte> encode_xrc(const CloseXrcTarget& message);
std::vector<std::byte> encode_xrc(const XrcTarget& message);
std::vector<std::byte> encode_xrc(const XrcTargetTaken& message);
/// Foreign, if `type` is none of theirs.
std::expected<Message, Malformed> decode_xrc(Type type, std::span<const std::byte> bytes);

/// Those of subnet_messages.h.
template <class T>
concept SubnetMessage =
    std::same_as<T, AskSubnetPort> || std::same_as<T, SubnetPort> || std::same_as<T, FindNeighbour> ||
    std::same_as<T, NeighbourFound> || std::same_as<T, FindPath> || std::same_as<T, PathFound> ||
    std::same_as<T, JoinSubnetGroup> || std::same_as<T, SubnetGroup> || std::same_as<T, LeaveSubnetGroup>;

std::vector<std::byte> encode_subnet(const AskSubnetPort& message);
std::vector<std::byte> encode_subnet(const SubnetPort& message);
std::vector<std::byte> encode_subnet(const FindNeighbour& message);
std::vector<std::byte> encode_subnet(const NeighbourFound& message);
std::vector<std::byte> encode_subnet(const FindPath& message);
std::vector<std::byte> encode_subnet(const PathFound& message);
std::vector<std::byte> encode_subnet(const JoinSubnetGroup& message);
std::vector<std::byte> encode_subnet(const SubnetGroup& message);
std::vector<std::byte> encode_subnet(const LeaveSubnetGroup& message);
/// Foreign, if `type` is none of theirs.
std::expected<Message, Malformed> decode_subnet(Type type, std::span<const std::byte> bytes);

}  // namespace verbline::hub
