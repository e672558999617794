// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/arp.h"

#include "datapath/link/ip_gid.h"

namespace verbline::neighbour {
namespace {

using wire::ArpOperation;
using wire::Gid;
using wire::Ipv4Address;

template <class Address>
Read read(wire::Bytes packet) {
    const Read malformed{.kind = Kind::malformed, .family = Family::ipv4};
    const auto arp = wire::Arp<Address>::parse(packet);
    const bool request = arp && arp->operation == ArpOperation::request;
    if (!arp || (!request && arp->operation != ArpOperation::reply) || !is_host(arp->sender_link)) return malformed;
    const bool probe = arp->sender == Ipv4Address{};
    const auto source = link::gid_of(arp->sender);
    if (probe ? !request : !is_host(source)) return malformed;
    const bool gratuitous = arp->sender == arp->target;
    return {.kind = Kind::resolution,
            .family = Family::ipv4,
            .message = {.solicits = request && !gratuitous,
                        .source = probe ? std::nullopt : std::optional(source),
                        .at = arp->sender_link,
                        .subject = gratuitous ? Gid{} : link::gid_of(arp->target),
                        .solicited = !request && !gratuitous}};
}

Ipv4Address ipv4_of(const std::optional<Gid>& gid) {
    return gid ? link::ipv4_of(*gid).value_or(Ipv4Address{}) : Ipv4Address{};
}

}  // namespace

Read read_arp(wire::Bytes packet, const LinkAddress& like) {
    return std::visit([&]<class Address>(const Address&) { return read<Address>(packet); }, like);
}

std::size_t write_arp(wire::MutableBytes out, const Message& message, const std::optional<LinkAddress>& to) {
    const bool announces = !message.solicits && message.subject == Gid{};
    return std::visit(
        [&]<class Address>(const Address& own) {
            using Arp = wire::Arp<Address>;
            const Arp arp{.operation = message.solicits || announces ? ArpOperation::request : ArpOperation::reply,
                          .sender_link = own,
                          .sender = ipv4_of(message.source),
                          .target_link = to ? std::get<Address>(*to) : Address{},
                          .target = announces ? ipv4_of(message.source) : ipv4_of(message.subject)};
            arp.emit(out.template first<Arp::size>());
            return Arp::size;
        },
        *message.at);
}

}  // namespace verbline::neighbour
