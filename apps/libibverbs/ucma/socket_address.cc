// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/socket_address.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <endian.h>
#include <netinet/in.h>

#include "datapath/link/ip_gid.h"

namespace verbline::verbs {
namespace {

using rdmacm::Family;
using rdmacm::SocketAddress;

template <class Structure>
Structure as(const SocketAddressStorage& storage) {
    Structure structure{};
    std::memcpy(&structure, &storage, sizeof structure);
    return structure;
}

template <class Structure>
SocketAddressStorage stored(const Structure& structure) {
    SocketAddressStorage storage{};
    std::memcpy(&storage, &structure, sizeof structure);
    return storage;
}

SocketAddress of_ipv4(const sockaddr_in& from) {
    return {.family = Family::ipv4,
            .gid = link::gid_of(wire::Ipv4Address{be32toh(from.sin_addr.s_addr)}),
            .port = be16toh(from.sin_port)};
}

SocketAddress of_ipv6(const sockaddr_in6& from) {
    SocketAddress to{.family = Family::ipv6, .port = be16toh(from.sin6_port), .scope_id = from.sin6_scope_id};
    std::memcpy(to.gid.bytes.data(), &from.sin6_addr, to.gid.bytes.size());
    to.flow_label = be32toh(from.sin6_flowinfo) & 0xfffff;
    return to;
}

SocketAddress of_infiniband(const InfinibandSocketAddress& from) {
    SocketAddress to{.family = Family::ib};
    std::memcpy(to.gid.bytes.data(), from.gid, sizeof from.gid);
    to.service_id = be64toh(from.service_id);
    to.service_mask = be64toh(from.service_mask);
    to.pkey = wire::PKey{be16toh(from.pkey)};
    to.flow_label = be32toh(from.flow_label) & 0xfffff;
    to.scope_id = static_cast<std::uint32_t>(from.scope_id);
    // Annex A11: the port is the end of the service id.
    to.port = static_cast<std::uint16_t>(to.service_id & to.service_mask);
    return to;
}

sockaddr_in to_ipv4(const SocketAddress& from) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htobe16(from.port);
    std::memcpy(&to.sin_addr, &from.gid.bytes[link::ipv4_in_gid], sizeof to.sin_addr);
    return to;
}

sockaddr_in6 to_ipv6(const SocketAddress& from) {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htobe16(from.port);
    to.sin6_flowinfo = htobe32(from.flow_label);
    to.sin6_scope_id = from.scope_id;
    std::memcpy(&to.sin6_addr, from.gid.bytes.data(), sizeof to.sin6_addr);
    return to;
}

InfinibandSocketAddress to_infiniband(const SocketAddress& from) {
    InfinibandSocketAddress to{.family = infiniband_family,
                               .pkey = htobe16(static_cast<std::uint16_t>(from.pkey)),
                               .flow_label = htobe32(from.flow_label),
                               .gid = {},
                               .service_id = htobe64(from.service_id),
                               .service_mask = htobe64(from.service_mask),
                               .scope_id = from.scope_id};
    std::ranges::copy(from.gid.bytes, to.gid);
    return to;
}

}  // namespace

std::size_t size_of(const SocketAddressStorage& address) {
    switch (address.ss_family) {
        case AF_INET: return sizeof(sockaddr_in);
        case AF_INET6: return sizeof(sockaddr_in6);
        case infiniband_family: return sizeof(InfinibandSocketAddress);
        default: return 0;
    }
}

std::size_t size_of(const SocketAddress& address) {
    return size_of(to_storage(address));
}

Result<SocketAddress> to_address(const SocketAddressStorage& address, std::size_t size) {
    if (size == 0 || size != size_of(address)) return failure(EINVAL, "address");
    switch (address.ss_family) {
        case AF_INET: return of_ipv4(as<sockaddr_in>(address));
        case AF_INET6: return of_ipv6(as<sockaddr_in6>(address));
        default: return of_infiniband(as<InfinibandSocketAddress>(address));
    }
}

Result<SocketAddress> to_address(const sockaddr_in6& address) {
    const auto storage = stored(address);
    const auto size = size_of(storage);
    return to_address(storage, size <= sizeof address ? size : 0);
}

SocketAddressStorage to_storage(const SocketAddress& address) {
    switch (address.family) {
        case Family::ipv4: return stored(to_ipv4(address));
        case Family::ipv6: return stored(to_ipv6(address));
        case Family::ib: break;
    }
    return stored(to_infiniband(address));
}

sockaddr_in6 to_ip_storage(const SocketAddress& address) {
    return address.family == Family::ib ? sockaddr_in6{} : as<sockaddr_in6>(to_storage(address));
}

SocketAddress infiniband_address(const wire::Gid& gid, wire::PKey pkey, wire::CmServiceId service) {
    return {.family = Family::ib, .gid = gid, .service_id = std::to_underlying(service), .pkey = pkey};
}

}  // namespace verbline::verbs
