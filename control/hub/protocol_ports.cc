// SPDX-License-Identifier: BSD-3-Clause
// The layouts of port_messages.h.
#include <utility>

#include "control/hub/protocol_layout.h"

namespace verbline::hub {
namespace {

struct [[gnu::packed]] UseField {
    std::uint8_t family;
    std::uint8_t only_its_family, reuse, listening;
    GidBytes address;
};
struct [[gnu::packed]] ReserveMessage {
    Header header;
    std::uint16_t space, port;
    UseField use;
};
struct [[gnu::packed]] ReservedMessage {
    Header header;
    std::uint16_t port;
};
struct [[gnu::packed]] RebindMessage {
    Header header;
    std::uint16_t space, port;
    UseField from, to;
};
struct [[gnu::packed]] ReleaseMessage {
    Header header;
    std::uint16_t space, port;
    UseField use;
};

UseField to_field(const PortUse& use) {
    return {.family = std::to_underlying(use.family),
            .only_its_family = use.only_its_family,
            .reuse = use.reuse,
            .listening = use.listening,
            .address = use.address.bytes};
}

std::optional<PortUse> from_field(const UseField& field) {
    const bool flags = field.only_its_family <= 1 && field.reuse <= 1 && field.listening <= 1;
    const bool alone = field.listening == 0 || field.reuse == 0;
    if (!flags || !alone || field.family > std::to_underlying(rdmacm::Family::ib)) return std::nullopt;
    return PortUse{.family = rdmacm::Family{field.family},
                   .address = {field.address},
                   .only_its_family = field.only_its_family == 1,
                   .reuse = field.reuse == 1,
                   .listening = field.listening == 1};
}

std::optional<Message> value(const ReserveMessage& in) {
    const auto use = from_field(in.use);
    if (!use) return std::nullopt;
    return Reserve{in.space, in.port, *use};
}
std::optional<Message> value(const ReservedMessage& in) {
    if (in.port == 0) return std::nullopt;
    return Reserved{in.port};
}
std::optional<Message> value(const RebindMessage& in) {
    const auto from = from_field(in.from), to = from_field(in.to);
    if (in.port == 0 || !from || !to) return std::nullopt;
    return Rebind{in.space, in.port, *from, *to};
}
std::optional<Message> value(const ReleaseMessage& in) {
    const auto use = from_field(in.use);
    if (in.port == 0 || !use) return std::nullopt;
    return Release{in.space, in.port, *use};
}

}  // namespace

std::vector<std::byte> encode_port(const Reserve& reserve) {
    return bytes_of(
        ReserveMessage{.header = {}, .space = reserve.space, .port = reserve.port, .use = to_field(reserve.use)},
        Type::reserve);
}
std::vector<std::byte> encode_port(const Reserved& reserved) {
    return bytes_of(ReservedMessage{.header = {}, .port = reserved.port}, Type::reserved);
}
std::vector<std::byte> encode_port(const Rebind& rebind) {
    return bytes_of(RebindMessage{.header = {},
                                  .space = rebind.space,
                                  .port = rebind.port,
                                  .from = to_field(rebind.from),
                                  .to = to_field(rebind.to)},
                    Type::rebind);
}
std::vector<std::byte> encode_port(const Release& release) {
    return bytes_of(
        ReleaseMessage{.header = {}, .space = release.space, .port = release.port, .use = to_field(release.use)},
        Type::release);
}

std::expected<Message, Malformed> decode_port(Type type, std::span<const std::byte> bytes) {
    switch (type) {
        case Type::reserve: return read_as<ReserveMessage>(bytes, value);
        case Type::reserved: return read_as<ReservedMessage>(bytes, value);
        case Type::rebind: return read_as<RebindMessage>(bytes, value);
        case Type::release: return read_as<ReleaseMessage>(bytes, value);
        default: return std::unexpected(Malformed::foreign);
    }
}

}  // namespace verbline::hub
