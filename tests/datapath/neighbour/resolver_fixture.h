// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A resolver on an Ethernet link, and the ARP messages of its neighbours.

#include <array>
#include <cstddef>
#include <optional>
#include <variant>

#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/arp.h"
#include "datapath/neighbour/resolver.h"

namespace verbline::neighbour::test_resolver {

using wire::Gid;

inline LinkAddress station(unsigned n) {
    wire::MacAddress address;
    address.bytes[0] = std::byte{2};
    address.bytes[5] = static_cast<std::byte>(n);
    return address;
}
inline LinkAddress ipoib(unsigned qpn) {
    return wire::IpoibAddress{.qpn = wire::Qpn{qpn},
                              .gid = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{qpn})};
}
constexpr Gid ipv4(unsigned a, unsigned b, unsigned c, unsigned d) {
    return link::gid_of(wire::ipv4(a, b, c, d));
}
constexpr Gid ip(unsigned host) {
    return ipv4(10, 0, 0, host);
}
inline constexpr Gid nobody{};

inline const LinkAddress our_link = station(1), their_link = station(2), other_link = station(3);

inline Message asks(const LinkAddress& link, const Gid& from, const Gid& to) {
    return from == to ? announcement(link, from)
                      : request(link, from == nobody ? std::nullopt : std::optional(from), to);
}
inline Message answers(const LinkAddress& link, const Gid& from, const Gid& to) {
    return reply(link, from, to);
}
inline Actions hear(Resolver& engine, const Message& message, Time now, const LinkAddress& to = our_link) {
    std::array<std::byte, max_arp_size> bytes{};
    const bool reply = !message.solicits && message.subject != Gid{};
    const auto size = write_arp(bytes, message, reply ? std::optional(to) : std::nullopt);
    return engine.received(read_arp(wire::Bytes(bytes).first(size), engine.link()), now);
}
/// 10.0.0.1/24.
struct Ours : Resolver {
    explicit Ours(const Parameters& parameters = {}) : Resolver(our_link, parameters) {
        set_addresses({{ip(1), 24}}, 0);
    }
};
inline Actions resolve_and_hear(Resolver& engine, unsigned host, const LinkAddress& link, Time now) {
    engine.resolve(ip(host), now);
    return hear(engine, answers(link, ip(host), ip(1)), now);
}

template <class T>
const T* only(const Actions& actions) {
    return actions.size() == 1 ? std::get_if<T>(&actions.front()) : nullptr;
}
inline std::optional<NeighbourState> state_of(const Resolver& engine, const Gid& address, Time now = 0) {
    for (const auto& neighbour : engine.neighbours(now)) {
        if (neighbour.address == address) return neighbour.state;
    }
    return std::nullopt;
}

}  // namespace verbline::neighbour::test_resolver
