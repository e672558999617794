// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Strong types for protocol numbers and addresses. Numbers are in host byte order, byte arrays in wire order.

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace verbline::wire {

enum class Qpn : std::uint32_t {};   ///< queue pair number, 24 bits (IBTA volume 1, 9.2)
enum class PKey : std::uint16_t {};  ///< partition key; bit 15: full member (10.9)
enum class QKey : std::uint32_t {};  ///< queue key; bit 31: privileged (10.2.4)
enum class RKey : std::uint32_t {};  ///< memory key: L_Key or R_Key (10.6)
enum class Lid : std::uint16_t {};   ///< local identifier; 0xc000 and above are multicast, 0xffff permissive (4.1.3)
enum class Guid : std::uint64_t {};  ///< EUI-64
enum class EtherType : std::uint16_t {};

constexpr Qpn multicast_qpn{0xffffff};  ///< destination QPN of every multicast packet (IBTA 10.5.2.2)

constexpr Lid first_multicast_lid{0xc000}, permissive_lid{0xffff};
constexpr bool is_multicast(Lid lid) {
    return lid >= first_multicast_lid && lid != permissive_lid;
}

constexpr bool is_full_member(PKey pkey) {
    return (static_cast<std::uint16_t>(pkey) & 0x8000) != 0;
}
/// The P_Key of the partition's full members, by which it and its multicast groups are known (RFC 4391, 4).
constexpr PKey full_member(PKey pkey) {
    return PKey{static_cast<std::uint16_t>(static_cast<std::uint16_t>(pkey) | 0x8000u)};
}
/// The partition number without the membership bit. P_Keys match if it is equal and at least one side is a full member
/// (IBTA 10.9.1.2).
constexpr std::uint16_t partition(PKey pkey) {
    return static_cast<std::uint16_t>(pkey) & 0x7fff;
}
constexpr bool match(PKey a, PKey b) {
    return partition(a) == partition(b) && partition(a) != 0 && (is_full_member(a) || is_full_member(b));
}

/// Packet sequence number: 24 bits, compared modulo 2^24 within half the range (IBTA 9.7.1).
class Psn {
public:
    constexpr Psn() = default;
    constexpr explicit Psn(std::uint32_t value) : value_(value & mask) {}

    constexpr std::uint32_t value() const { return value_; }
    constexpr Psn operator+(std::uint32_t n) const { return Psn(value_ + n); }
    /// Signed distance of `*this` ahead of `other`: -2^23 .. 2^23 - 1.
    constexpr std::int32_t operator-(Psn other) const {
        return static_cast<std::int32_t>((value_ - other.value_) << 8) >> 8;
    }
    constexpr bool operator==(const Psn&) const = default;

private:
    static constexpr std::uint32_t mask = 0xffffff;
    std::uint32_t value_ = 0;
};

/// A 128-bit GID: subnet prefix and interface id, or a multicast GID (IBTA 4.1.1).
struct Gid {
    std::array<std::byte, 16> bytes{};

    static constexpr Gid of(std::uint64_t prefix, Guid guid) {
        Gid gid;
        for (unsigned i = 0; i < 8; ++i) {
            gid.bytes[i] = static_cast<std::byte>(prefix >> (56 - 8 * i));
            gid.bytes[8 + i] = static_cast<std::byte>(static_cast<std::uint64_t>(guid) >> (56 - 8 * i));
        }
        return gid;
    }
    constexpr std::uint64_t prefix() const { return half(0); }
    constexpr Guid interface_id() const { return Guid{half(8)}; }
    constexpr bool multicast() const { return bytes[0] == std::byte{0xff}; }
    constexpr auto operator<=>(const Gid&) const = default;

private:
    constexpr std::uint64_t half(unsigned at) const {
        std::uint64_t value = 0;
        for (unsigned i = 0; i < 8; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
        return value;
    }
};

constexpr std::uint64_t default_subnet_prefix = 0xfe80'0000'0000'0000;

struct MacAddress {
    std::array<std::byte, 6> bytes{};
    constexpr bool multicast() const { return (bytes[0] & std::byte{1}) != std::byte{0}; }
    constexpr auto operator<=>(const MacAddress&) const = default;
};

constexpr MacAddress broadcast_mac{
    {std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}}};

enum class Ipv4Address : std::uint32_t {};  ///< host order: 10.0.0.1 is 0x0a000001

constexpr Ipv4Address ipv4(unsigned a, unsigned b, unsigned c, unsigned d) {
    return Ipv4Address{a << 24 | b << 16 | c << 8 | d};
}
constexpr bool is_multicast(Ipv4Address a) {
    return static_cast<std::uint32_t>(a) >> 28 == 0xe;
}

/// An address and how many of its leading bits name the network: 10.1.0.1/24.
struct Ipv4Prefix {
    Ipv4Address address{};
    std::uint8_t length = 0;  ///< 0..32

    constexpr std::uint32_t mask() const { return length == 0 ? 0 : ~std::uint32_t{0} << (32 - length); }
    constexpr Ipv4Address network() const { return Ipv4Address{static_cast<std::uint32_t>(address) & mask()}; }
    constexpr Ipv4Address broadcast() const { return Ipv4Address{static_cast<std::uint32_t>(address) | ~mask()}; }
    constexpr bool contains(Ipv4Address a) const {
        return (static_cast<std::uint32_t>(a) & mask()) == static_cast<std::uint32_t>(network());
    }
    constexpr auto operator<=>(const Ipv4Prefix&) const = default;
};

struct Ipv6Address {
    std::array<std::byte, 16> bytes{};
    constexpr auto operator<=>(const Ipv6Address&) const = default;
};

constexpr bool is_multicast(const Ipv6Address& a) {
    return a.bytes[0] == std::byte{0xff};
}
/// fe80::/10 (RFC 4291, 2.5.6).
constexpr bool is_link_local(const Ipv6Address& a) {
    return a.bytes[0] == std::byte{0xfe} && (a.bytes[1] & std::byte{0xc0}) == std::byte{0x80};
}

/// An address and how many of its leading bits name the network: fd76::1/64.
struct Ipv6Prefix {
    Ipv6Address address{};
    std::uint8_t length = 0;  ///< 0..128

    constexpr Ipv6Address network() const {
        Ipv6Address out = address;
        for (unsigned i = 0, left = length; i < out.bytes.size(); ++i) {
            const unsigned bits = left < 8 ? left : 8;
            out.bytes[i] &= static_cast<std::byte>(0xff00u >> bits);
            left -= bits;
        }
        return out;
    }
    constexpr bool contains(const Ipv6Address& a) const { return Ipv6Prefix{a, length}.network() == network(); }
    constexpr auto operator<=>(const Ipv6Prefix&) const = default;
};

template <class Address>
using PrefixOf = std::conditional_t<std::same_as<Address, Ipv4Address>, Ipv4Prefix, Ipv6Prefix>;

/// The 20-byte link-layer address of IPoIB: 8 bits of flags, QPN, GID (RFC 4391, 9.1.1).
struct IpoibAddress {
    static constexpr std::size_t size = 20;
    static constexpr std::uint8_t connected_rc = 0x80, connected_uc = 0x40;  ///< flags (RFC 4755)

    std::uint8_t flags = 0;
    Qpn qpn{};
    Gid gid{};
    constexpr auto operator<=>(const IpoibAddress&) const = default;
};

}  // namespace verbline::wire
