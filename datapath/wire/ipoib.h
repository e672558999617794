// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IPoIB: the four-byte encapsulation header, the 20-byte link-layer address and the multicast GIDs made from IP
/// addresses.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +-------------------------------+-------------------------------+
///     |           EtherType           |            reserved           |   IpoibHeader: RFC 4391, 6
///     +-------------------------------+-------------------------------+
///
///     +---------------+-----------------------------------------------+
///     |     flags     |                      QPN                      |   IpoibAddress: RFC 4391, 9.1.1
///     +---------------+-----------------------------------------------+
///     |                         GID, 16 bytes                         |
///     +---------------------------------------------------------------+
///
///     +--------+----+----+----------------+----------------+-------------------------------+
///     |11111111|0001|scop|   signature    |     P_Key      |        group, 80 bits         |   MGID: RFC 4391, 4
///     +--------+----+----+----------------+----------------+-------------------------------+
///     signature 0x401b for IPv4 (group: the low 28 bits of the address), 0x601b for IPv6 (the low 80 bits).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/wire/field.h"
#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

struct IpoibHeader {
    static constexpr std::size_t size = 4;

    EtherType type{};

    using Layout = Fields<Field<&IpoibHeader::type, at(0), 16>, Reserved<at(2), 16>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<IpoibHeader> parse(Bytes packet) { return read<IpoibHeader>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const IpoibHeader&) const = default;
};

template <>
struct LayoutOf<IpoibAddress> {
    using type = Fields<Field<&IpoibAddress::flags, at(0), 8>, Field<&IpoibAddress::qpn, at(1), 24>,
                        Field<&IpoibAddress::gid, at(4), 128>>;
    static_assert(type::tile(IpoibAddress::size));
};

constexpr Parsed<IpoibAddress> parse_ipoib_address(Bytes bytes) {
    return read<IpoibAddress>(bytes);
}
constexpr void emit(const IpoibAddress& address, std::span<std::byte, IpoibAddress::size> out) {
    write(address, out);
}

constexpr std::uint16_t ipoib_ipv4_signature = 0x401b, ipoib_ipv6_signature = 0x601b;
constexpr std::uint8_t link_local_scope = 2;

/// The part that is common to all groups of one IPoIB link. The P_Key in an MGID always has the full-membership bit
/// set.
constexpr Gid ipoib_mgid(std::uint16_t signature, PKey pkey, std::uint8_t scope) {
    Gid gid;
    store8(gid.bytes, 0, 0xff);
    store8(gid.bytes, 1, 0x10u | (scope & 0xfu));
    store16(gid.bytes, 2, signature);
    store16(gid.bytes, 4, static_cast<std::uint16_t>(pkey) | 0x8000u);
    return gid;
}

/// The broadcast group, joined by every interface of the link; used for 255.255.255.255 and the subnet's broadcast
/// address.
constexpr Gid ipoib_broadcast_mgid(PKey pkey, std::uint8_t scope = link_local_scope) {
    Gid gid = ipoib_mgid(ipoib_ipv4_signature, pkey, scope);
    store32(gid.bytes, 12, 0xffffffff);
    return gid;
}

constexpr Gid ipoib_multicast_mgid(Ipv4Address group, PKey pkey, std::uint8_t scope = link_local_scope) {
    Gid gid = ipoib_mgid(ipoib_ipv4_signature, pkey, scope);
    store32(gid.bytes, 12, static_cast<std::uint32_t>(group) & 0x0fffffff);
    return gid;
}

constexpr Gid ipoib_multicast_mgid(const Ipv6Address& group, PKey pkey, std::uint8_t scope = link_local_scope) {
    Gid gid = ipoib_mgid(ipoib_ipv6_signature, pkey, scope);
    std::ranges::copy(Bytes(group.bytes).subspan(6), gid.bytes.begin() + 6);
    return gid;
}

}  // namespace verbline::wire
