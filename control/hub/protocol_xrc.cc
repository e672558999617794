// SPDX-License-Identifier: BSD-3-Clause
// Messages of xrc_messages.h.
#include <bit>
#include <utility>

#include "control/hub/protocol_layout.h"
#include "datapath/link/member.h"

namespace verbline::hub {
namespace {

/// A domain's number, a queue pair's, both, or the count of a target's changes.
struct [[gnu::packed]] NumbersMessage {
    Header header;
    std::uint32_t one, other;
};
struct [[gnu::packed]] OpenDomainMessage {
    Header header;
    std::uint8_t create, exclusive;
};
struct [[gnu::packed]] TargetMessage {
    Header header;
    std::uint32_t domain, qpn, change;
    std::uint8_t state, failure;
    std::uint32_t access;
    std::uint16_t pkey_index;
    std::uint32_t peer, first;
    std::uint16_t mtu;
    std::uint8_t max_reads, rnr_timer;
    GidBytes source;
    std::uint8_t roce_v1;
    GidBytes to;
    std::uint8_t global;
    std::uint16_t dlid;
    std::uint8_t service_level, hop_limit, traffic_class;
    std::uint32_t flow_label;
    Mac mac;
};
static_assert(sizeof(TargetMessage) <= largest_message);

constexpr std::uint32_t most_24_bits = 0xff'ffff;

template <class Value>
std::vector<std::byte> numbers(Type type, std::uint32_t one, Value other) {
    return bytes_of(NumbersMessage{.header = {}, .one = one, .other = static_cast<std::uint32_t>(other)}, type);
}
std::vector<std::byte> numbers(Type type, std::uint32_t one) {
    return numbers(type, one, 0u);
}

std::optional<Message> value(const OpenDomainMessage& in) {
    if (in.create > 1 || in.exclusive > 1) return std::nullopt;
    return OpenXrcDomain{in.create == 1, in.exclusive == 1};
}

template <class DomainMessage>
std::optional<Message> of_domain(const NumbersMessage& in) {
    if (in.one == 0 || in.other != 0) return std::nullopt;
    return DomainMessage{XrcDomainId{in.one}};
}
template <class TargetOnly>
std::optional<Message> of_target(const NumbersMessage& in) {
    if (!link::is_shared_target(wire::Qpn{in.one}) || in.other != 0) return std::nullopt;
    return TargetOnly{wire::Qpn{in.one}};
}
std::optional<Message> opens_target(const NumbersMessage& in) {
    // Any number may be asked for.
    if (in.one == 0 || in.other > most_24_bits) return std::nullopt;
    return OpenXrcTarget{XrcDomainId{in.one}, wire::Qpn{in.other}};
}
std::optional<Message> taken(const NumbersMessage& in) {
    if (!link::is_shared_target(wire::Qpn{in.one})) return std::nullopt;
    return XrcTargetTaken{wire::Qpn{in.one}, in.other};
}

bool is_path_mtu(std::uint16_t bytes) {
    return std::has_single_bit(bytes) && bytes >= 256 && bytes <= 4096;
}

std::optional<Message> value(const TargetMessage& in) {
    const wire::MacAddress mac{in.mac};
    const auto state = static_cast<XrcTargetState>(in.state);
    if (in.domain == 0 || !link::is_shared_target(wire::Qpn{in.qpn}) || state > XrcTargetState::gone ||
        in.failure > std::to_underlying(wire::NakCode::remote_operational)) {
        return std::nullopt;
    }
    if (in.peer > most_24_bits || in.first > most_24_bits || in.rnr_timer > 31 || in.roce_v1 > 1 ||
        in.service_level > 15 || in.flow_label > 0xf'ffff || mac.multicast() || in.global > 1) {
        return std::nullopt;
    }
    // On Ethernet the peer is at a GID, behind a MAC address, on a fabric at a LID.
    if (wire::is_multicast(wire::Lid{in.dlid})) return std::nullopt;
    const bool reachable = in.dlid != 0 || (mac != wire::MacAddress{} && in.global == 1);
    if (is_connected(state) && (!is_path_mtu(in.mtu) || !reachable)) return std::nullopt;
    return XrcTarget{.domain = XrcDomainId{in.domain},
                     .qpn = wire::Qpn{in.qpn},
                     .change = in.change,
                     .state = state,
                     .failure = static_cast<wire::NakCode>(in.failure),
                     .access = in.access,
                     .pkey_index = in.pkey_index,
                     .peer = wire::Qpn{in.peer},
                     .first = wire::Psn{in.first},
                     .mtu = in.mtu,
                     .max_reads = in.max_reads,
                     .rnr_timer = in.rnr_timer,
                     .source = {in.source},
                     .roce_v1 = in.roce_v1 == 1,
                     .to = {.dlid = wire::Lid{in.dlid},
                            .sl = in.service_level,
                            .global = in.global == 1,
                            .dgid = {in.to},
                            .hop_limit = in.hop_limit,
                            .traffic_class = in.traffic_class,
                            .flow_label = in.flow_label},
                     .mac = mac};
}

}  // namespace

std::vector<std::byte> encode_xrc(const OpenXrcDomain& message) {
    return bytes_of(OpenDomainMessage{.header = {}, .create = message.create, .exclusive = message.exclusive},
                    Type::open_xrc_domain);
}
std::vector<std::byte> encode_xrc(const XrcDomainOpened& message) {
    return numbers(Type::xrc_domain_opened, std::to_underlying(message.domain));
}
std::vector<std::byte> encode_xrc(const CloseXrcDomain& message) {
    return numbers(Type::close_xrc_domain, std::to_underlying(message.domain));
}
std::vector<std::byte> encode_xrc(const CreateXrcTarget& message) {
    return numbers(Type::create_xrc_target, std::to_underlying(message.domain));
}
std::vector<std::byte> encode_xrc(const XrcTargetMade& message) {
    return numbers(Type::xrc_target_made, std::to_underlying(message.qpn));
}
std::vector<std::byte> encode_xrc(const OpenXrcTarget& message) {
    return numbers(Type::open_xrc_target, std::to_underlying(message.domain), message.qpn);
}
std::vector<std::byte> encode_xrc(const CloseXrcTarget& message) {
    return numbers(Type::close_xrc_target, std::to_underlying(message.qpn));
}
std::vector<std::byte> encode_xrc(const XrcTargetTaken& message) {
    return numbers(Type::xrc_target_taken, std::to_underlying(message.qpn), message.change);
}
std::vector<std::byte> encode_xrc(const XrcTarget& message) {
    return bytes_of(TargetMessage{.header = {},
                                  .domain = std::to_underlying(message.domain),
                                  .qpn = std::to_underlying(message.qpn),
                                  .change = message.change,
                                  .state = std::to_underlying(message.state),
                                  .failure = std::to_underlying(message.failure),
                                  .access = message.access,
                                  .pkey_index = message.pkey_index,
                                  .peer = std::to_underlying(message.peer),
                                  .first = message.first.value(),
                                  .mtu = message.mtu,
                                  .max_reads = message.max_reads,
                                  .rnr_timer = message.rnr_timer,
                                  .source = message.source.bytes,
                                  .roce_v1 = message.roce_v1,
                                  .to = message.to.dgid.bytes,
                                  .global = message.to.global,
                                  .dlid = std::to_underlying(message.to.dlid),
                                  .service_level = message.to.sl,
                                  .hop_limit = message.to.hop_limit,
                                  .traffic_class = message.to.traffic_class,
                                  .flow_label = message.to.flow_label,
                                  .mac = message.mac.bytes},
                    Type::xrc_target);
}

std::expected<Message, Malformed> decode_xrc(Type type, std::span<const std::byte> bytes) {
    switch (type) {
        case Type::open_xrc_domain: return read_as<OpenDomainMessage>(bytes, value);
        case Type::xrc_domain_opened: return read_as<NumbersMessage>(bytes, of_domain<XrcDomainOpened>);
        case Type::close_xrc_domain: return read_as<NumbersMessage>(bytes, of_domain<CloseXrcDomain>);
        case Type::create_xrc_target: return read_as<NumbersMessage>(bytes, of_domain<CreateXrcTarget>);
        case Type::xrc_target_made: return read_as<NumbersMessage>(bytes, of_target<XrcTargetMade>);
        case Type::open_xrc_target: return read_as<NumbersMessage>(bytes, opens_target);
        case Type::close_xrc_target: return read_as<NumbersMessage>(bytes, of_target<CloseXrcTarget>);
        case Type::xrc_target: return read_as<TargetMessage>(bytes, value);
        case Type::xrc_target_taken: return read_as<NumbersMessage>(bytes, taken);
        default: return std::unexpected(Malformed::foreign);
    }
}

}  // namespace verbline::hub
