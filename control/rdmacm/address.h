// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// RDMA CM addresses of three families, port spaces, and the service ids made of them (IBTA annex A11).

#include <cstdint>
#include <optional>
#include <utility>

#include "datapath/wire/cm.h"
#include "datapath/wire/types.h"

namespace verbline::rdmacm {

enum class Family : std::uint8_t { ipv4, ipv6, ib };

/// Whether it is the unspecified address; of IPv4 also as a mapped one.
constexpr bool is_any_address(Family family, const wire::Gid& gid);

/// AF_INET, AF_INET6 and AF_IB as one value. IPv4 addresses are mapped into the GID, as in datapath/link/ip_gid.h.
struct SocketAddress {
    Family family = Family::ipv4;
    wire::Gid gid{};
    std::uint16_t port = 0;  ///< host order; 0: any
    // AF_IB.
    std::uint64_t service_id = 0, service_mask = 0;
    wire::PKey pkey{};
    std::uint32_t flow_label = 0, scope_id = 0;  ///< scope: of link-local IPv6 as well

    constexpr bool any() const { return is_any_address(family, gid); }
    bool operator==(const SocketAddress&) const = default;

    static constexpr wire::Gid any_ipv4() {
        wire::Gid gid{};
        gid.bytes[10] = gid.bytes[11] = std::byte{0xff};
        return gid;
    }
};

constexpr bool is_any_address(Family family, const wire::Gid& gid) {
    return gid == wire::Gid{} || (family == Family::ipv4 && gid == SocketAddress::any_ipv4());
}

/// Whether the address is in 127.0.0.0/8 or is ::1.
constexpr bool loopback(const SocketAddress& address) {
    if (address.family == Family::ipv4) return address.gid.bytes[12] == std::byte{127};
    return address.family == Family::ipv6 && address.gid == wire::Gid::of(0, wire::Guid{1});
}

/// Whether the address is in fe80::/10 (RFC 4291, 2.5.6).
constexpr bool link_local(const wire::Gid& gid) {
    return gid.bytes[0] == std::byte{0xfe} && (gid.bytes[1] & std::byte{0xc0}) == std::byte{0x80};
}

enum class PortSpace : std::uint16_t { ipoib = 0x0002, tcp = 0x0106, udp = 0x0111, ib = 0x013f };

constexpr bool valid(PortSpace space) {
    return space == PortSpace::ipoib || space == PortSpace::tcp || space == PortSpace::udp || space == PortSpace::ib;
}
/// Whether ids of this space use SIDR and multicast rather than connections.
constexpr bool datagrams(PortSpace space) {
    return space == PortSpace::udp || space == PortSpace::ipoib;
}

/// IBTA annex A11.2.1: the prefix, the space, the port.
constexpr wire::CmServiceId service_id(PortSpace space, std::uint16_t port) {
    return wire::CmServiceId{static_cast<std::uint64_t>(space) << 16 | port};
}

/// Inverse of `service_id()`. None: the service id is of no port space.
constexpr std::optional<std::pair<PortSpace, std::uint16_t>> port_of(wire::CmServiceId service) {
    const auto id = static_cast<std::uint64_t>(service);
    const auto space = static_cast<PortSpace>(id >> 16);
    if (id >> 32 != 0 || !valid(space)) return std::nullopt;
    return std::pair{space, static_cast<std::uint16_t>(id)};
}

/// The port space that an AF_IB service id lies in, if ids of space `own` may use it; ids of `ib` may use all spaces.
constexpr std::optional<PortSpace> ib_space(PortSpace own, const SocketAddress& address) {
    constexpr std::uint64_t without_port = ~std::uint64_t{0xffff};
    const auto mask = address.service_mask & without_port;
    for (const auto space : {PortSpace::ib, PortSpace::tcp, PortSpace::udp}) {
        const auto first = static_cast<std::uint64_t>(service_id(space, 0));
        if ((own == PortSpace::ib || own == space) && (address.service_id & mask) == (first & mask)) return space;
    }
    return std::nullopt;
}

}  // namespace verbline::rdmacm
