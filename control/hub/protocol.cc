// SPDX-License-Identifier: BSD-3-Clause
#include "control/hub/protocol.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "control/hub/protocol_layout.h"
#include "datapath/link/member.h"

namespace verbline::hub {
namespace {

template <std::size_t size>
using Text = std::array<char, size>;  ///< ends at its first zero, if it has one

struct [[gnu::packed]] AddressField {
    std::array<std::byte, 16> gid;
    std::uint8_t length;
    std::uint16_t pkey;
};
struct [[gnu::packed]] AddressList {
    std::uint8_t count;
    std::array<AddressField, max_addresses> fields;
};

struct [[gnu::packed]] JoinMessage {
    Header header;
    Mac mac;
    AddressList addresses;
    Text<max_program> program;
    std::uint8_t direct;
};
struct [[gnu::packed]] GrantedMessage {
    Header header;
    Mac mac;
    std::uint16_t mtu;
    std::uint16_t member;
    AddressList addresses;
    Text<max_socket> socket;
};
struct [[gnu::packed]] RefusedMessage {
    Header header;
    std::int32_t code;
    Text<max_reason> reason;
};
struct [[gnu::packed]] GroupMessage {
    Header header;
    Mac mac;
    std::uint8_t member;
    GidBytes mgid;
    std::uint16_t mlid;
};
struct [[gnu::packed]] DoneMessage {
    Header header;
};
struct [[gnu::packed]] ResolveMessage {
    Header header;
    GidBytes from, to;
};
struct [[gnu::packed]] ResolvedMessage {
    Header header;
    Mac mac;
    std::int32_t code;
};
struct [[gnu::packed]] AddressesMessage {
    Header header;
    AddressList addresses;
};
struct [[gnu::packed]] DirectMessage {
    Header header;
    Mac peer;
};
/// Granted, or offered.
struct [[gnu::packed]] DirectLinkMessage {
    Header header;
    Mac peer;
    std::uint32_t id;
};
struct [[gnu::packed]] DirectRefusedMessage {
    Header header;
    Mac peer;
    std::int32_t code;
};
struct [[gnu::packed]] DirectEndMessage {
    Header header;
    std::uint32_t id;
};
static_assert(std::max({sizeof(JoinMessage), sizeof(GrantedMessage), sizeof(RefusedMessage)}) <= largest_message);

template <std::size_t size>
void put(Text<size>& field, std::string_view text) {
    text.copy(field.data(), size);
}

/// The text with all but printable ASCII replaced, safe to show in terminals, logs and tables.
template <std::size_t size>
std::string printable(const Text<size>& field) {
    std::string text(field.begin(), std::ranges::find(field, '\0'));
    std::ranges::replace_if(text, [](char c) { return c < ' ' || c > '~'; }, '?');
    return text;
}

AddressList to_list(const std::vector<InterfaceAddress>& addresses) {
    AddressList list{.count = static_cast<std::uint8_t>(std::min(addresses.size(), max_addresses)), .fields = {}};
    for (std::size_t i = 0; i < list.count; ++i) {
        list.fields[i] = {addresses[i].gid.bytes, addresses[i].length, std::to_underlying(addresses[i].pkey)};
    }
    return list;
}

std::optional<std::vector<InterfaceAddress>> from_list(const AddressList& list) {
    if (list.count > max_addresses) return std::nullopt;
    std::vector<InterfaceAddress> addresses;
    for (std::size_t i = 0; i < list.count; ++i) {
        addresses.push_back({{list.fields[i].gid}, list.fields[i].length, wire::PKey{list.fields[i].pkey}});
        if (!usable(addresses.back())) return std::nullopt;
    }
    return addresses;
}

struct Encoder {
    std::vector<std::byte> operator()(const Join& join) const {
        JoinMessage out{.header = {},
                        .mac = join.mac.bytes,
                        .addresses = to_list(join.addresses),
                        .program = {},
                        .direct = join.direct};
        put(out.program, join.program);
        return bytes_of(out, Type::join);
    }
    std::vector<std::byte> operator()(const Granted& granted) const {
        GrantedMessage out{.header = {},
                           .mac = granted.mac.bytes,
                           .mtu = granted.mtu,
                           .member = granted.member,
                           .addresses = to_list(granted.addresses),
                           .socket = {}};
        put(out.socket, granted.memif_socket);
        return bytes_of(out, Type::granted);
    }
    std::vector<std::byte> operator()(const Refused& refused) const {
        RefusedMessage out{.header = {}, .code = refused.code, .reason = {}};
        put(out.reason, refused.reason);
        return bytes_of(out, Type::refused);
    }
    std::vector<std::byte> operator()(const GroupMembership& group) const {
        return bytes_of(GroupMessage{.header = {},
                                     .mac = group.mac.bytes,
                                     .member = group.member,
                                     .mgid = group.mgid.bytes,
                                     .mlid = static_cast<std::uint16_t>(group.mlid)},
                        Type::group);
    }
    std::vector<std::byte> operator()(const Done&) const { return bytes_of(DoneMessage{}, Type::done); }
    std::vector<std::byte> operator()(const Resolve& resolve) const {
        return bytes_of(ResolveMessage{.header = {}, .from = resolve.from.bytes, .to = resolve.to.bytes},
                        Type::resolve);
    }
    std::vector<std::byte> operator()(const Resolved& resolved) const {
        return bytes_of(ResolvedMessage{.header = {}, .mac = resolved.mac.bytes, .code = resolved.code},
                        Type::resolved);
    }
    std::vector<std::byte> operator()(const Addresses& all) const {
        return bytes_of(AddressesMessage{.header = {}, .addresses = to_list(all.addresses)}, Type::addresses);
    }
    std::vector<std::byte> operator()(const Direct& direct) const {
        return bytes_of(DirectMessage{.header = {}, .peer = direct.peer.bytes}, Type::direct);
    }
    std::vector<std::byte> operator()(const DirectGranted& granted) const {
        return bytes_of(link_of(granted), Type::direct_granted);
    }
    std::vector<std::byte> operator()(const DirectRefused& refused) const {
        return bytes_of(DirectRefusedMessage{.header = {}, .peer = refused.peer.bytes, .code = refused.code},
                        Type::direct_refused);
    }
    std::vector<std::byte> operator()(const DirectOffer& offer) const {
        return bytes_of(link_of(offer), Type::direct_offer);
    }
    template <PortMessage Any>
    std::vector<std::byte> operator()(const Any& message) const {
        return encode_port(message);
    }
    template <XrcMessage Any>
    std::vector<std::byte> operator()(const Any& message) const {
        return encode_xrc(message);
    }
    template <SubnetMessage Any>
    std::vector<std::byte> operator()(const Any& message) const {
        return encode_subnet(message);
    }
    std::vector<std::byte> operator()(const DirectEnd& end) const {
        return bytes_of(DirectEndMessage{.header = {}, .id = static_cast<std::uint32_t>(end.id)}, Type::direct_end);
    }

private:
    static DirectLinkMessage link_of(const auto& link) {
        return {.header = {}, .peer = link.peer.bytes, .id = static_cast<std::uint32_t>(link.id)};
    }
};

std::optional<Message> value(const JoinMessage& in) {
    const wire::MacAddress mac{in.mac};
    auto addresses = from_list(in.addresses);
    if (!addresses || mac.multicast() || in.direct > 1) return std::nullopt;
    return Join{mac, std::move(*addresses), printable(in.program), in.direct == 1};
}
std::optional<Message> value(const GrantedMessage& in) {
    const wire::MacAddress mac{in.mac};
    auto addresses = from_list(in.addresses);
    auto socket = printable(in.socket);
    if (!addresses || mac.multicast() || mac == wire::MacAddress{} || socket.empty() || in.mtu == 0) {
        return std::nullopt;
    }
    if (in.member > link::last_member) return std::nullopt;
    return Granted{std::move(socket), mac, std::move(*addresses), in.mtu, in.member};
}
std::optional<Message> value(const RefusedMessage& in) {
    if (in.code <= 0) return std::nullopt;
    return Refused{in.code, printable(in.reason)};
}
std::optional<Message> value(const GroupMessage& in) {
    const wire::MacAddress mac{in.mac};
    if (!mac.multicast() || mac == wire::broadcast_mac || in.member > 1) return std::nullopt;
    return GroupMembership{mac, in.member == 1, {in.mgid}, wire::Lid{in.mlid}};
}
std::optional<Message> value(const DoneMessage& /*in*/) {
    return Done{};
}
std::optional<Message> value(const ResolveMessage& in) {
    return Resolve{{in.from}, {in.to}};
}
std::optional<Message> value(const ResolvedMessage& in) {
    const wire::MacAddress mac{in.mac};
    if (in.code < 0 || (in.code == 0 && (mac.multicast() || mac == wire::MacAddress{}))) return std::nullopt;
    return Resolved{mac, in.code};
}

std::optional<Message> value(const AddressesMessage& in) {
    auto addresses = from_list(in.addresses);
    if (!addresses) return std::nullopt;
    return Addresses{std::move(*addresses)};
}

/// A lane's, or nothing.
std::optional<wire::MacAddress> peer_of(const Mac& mac) {
    const wire::MacAddress peer{mac};
    if (peer.multicast() || peer == wire::MacAddress{}) return std::nullopt;
    return peer;
}
std::optional<Message> value(const DirectMessage& in) {
    const auto peer = peer_of(in.peer);
    if (!peer) return std::nullopt;
    return Direct{*peer};
}
template <class Link>
std::optional<Message> value(const DirectLinkMessage& in) {
    const auto peer = peer_of(in.peer);
    if (!peer || in.id == 0) return std::nullopt;
    return Link{*peer, DirectId{in.id}};
}
std::optional<Message> value(const DirectRefusedMessage& in) {
    const auto peer = peer_of(in.peer);
    if (!peer || in.code <= 0) return std::nullopt;
    return DirectRefused{*peer, in.code};
}
std::optional<Message> value(const DirectEndMessage& in) {
    if (in.id == 0) return std::nullopt;
    return DirectEnd{DirectId{in.id}};
}

template <class Fields>
std::optional<Message> value_of(const Fields& fields) {
    return value(fields);
}

template <class Fields>
std::expected<Message, Malformed> read(std::span<const std::byte> bytes) {
    return read_as<Fields>(bytes, value_of<Fields>);
}

}  // namespace

std::vector<std::byte> encode(const Message& message) {
    return std::visit(Encoder{}, message);
}

std::expected<Message, Malformed> decode(std::span<const std::byte> bytes) {
    Header header;
    if (bytes.size() < sizeof(header)) return std::unexpected(Malformed::foreign);
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (header.mark != mark) return std::unexpected(Malformed::foreign);
    if (header.version != version && header.type != Type::refused) return std::unexpected(Malformed::other_version);
    switch (header.type) {
        case Type::join: return read<JoinMessage>(bytes);
        case Type::granted: return read<GrantedMessage>(bytes);
        case Type::refused: return read<RefusedMessage>(bytes);
        case Type::group: return read<GroupMessage>(bytes);
        case Type::done: return read<DoneMessage>(bytes);
        case Type::reserve:
        case Type::reserved:
        case Type::rebind:
        case Type::release: return decode_port(header.type, bytes);
        case Type::direct: return read<DirectMessage>(bytes);
        case Type::direct_granted: return read_as<DirectLinkMessage>(bytes, value<DirectGranted>);
        case Type::direct_refused: return read<DirectRefusedMessage>(bytes);
        case Type::direct_offer: return read_as<DirectLinkMessage>(bytes, value<DirectOffer>);
        case Type::direct_end: return read<DirectEndMessage>(bytes);
        case Type::resolve: return read<ResolveMessage>(bytes);
        case Type::resolved: return read<ResolvedMessage>(bytes);
        case Type::addresses: return read<AddressesMessage>(bytes);
        default:
            return header.type < Type::ask_subnet_port ? decode_xrc(header.type, bytes)
                                                       : decode_subnet(header.type, bytes);
    }
}

}  // namespace verbline::hub
