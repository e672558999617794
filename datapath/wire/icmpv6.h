// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// ICMPv6 and Neighbour Discovery.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +---------------+---------------+-------------------------------+
///     |      type     |      code     |            checksum           |   Icmpv6: every message
///     +---------------+---------------+-------------------------------+
///     |        identifier, or the upper half of MTU, pointer          |
///     +---------------------------------------------------------------+
///
///     +---------------+-+-+-+---------+-------------------------------+
///     |   hop limit   |M|O| reserved  |        router lifetime        |   RouterAdvertisement, after the first 4 bytes
///     +---------------+-+-+-+---------+-------------------------------+
///     |                         reachable time                        |
///     +---------------------------------------------------------------+
///     |                         retransmit time                       |
///     +-+-+-+---------------------------------------------------------+
///     |R|S|O|                        reserved                         |   NeighbourMessage, after the first 4 bytes:
///     +-+-+-+---------------------------------------------------------+   solicitation (flags 0) and advertisement
///     |                       target, 16 bytes                        |
///     +---------------------------------------------------------------+
///     |                     destination, 16 bytes                     |   Redirect only
///     +---------------------------------------------------------------+
///
///     +---------------+---------------+-------------------------------+
///     |      type     |    length     |              ...              |   option: length in units of 8 bytes
///     +---------------+---------------+-------------------------------+
///
/// RFC 4443; RFC 4861, 4; the link-layer address option of InfiniBand is 24 bytes, with two bytes of padding before the
/// address (RFC 4391, 9.3). Checksums include a pseudo-header; the caller computes them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

namespace icmpv6_type {
constexpr std::uint8_t unreachable = 1, packet_too_big = 2, time_exceeded = 3, parameter_problem = 4;
constexpr std::uint8_t echo = 128, echo_reply = 129;
constexpr std::uint8_t router_solicitation = 133, router_advertisement = 134, neighbour_solicitation = 135,
                       neighbour_advertisement = 136, redirect = 137;
}  // namespace icmpv6_type

/// The first eight bytes of any message: type, code, checksum and a type-specific word.
struct Icmpv6 {
    static constexpr std::size_t size = 8;

    std::uint8_t type = 0;
    std::uint8_t code = 0;
    std::uint16_t checksum = 0;
    std::uint32_t word = 0;  ///< echo: identifier << 16 | sequence; packet too big: MTU; router solicitation: 0

    using Layout = Fields<Field<&Icmpv6::type, at(0), 8>, Field<&Icmpv6::code, at(1), 8>,
                          Field<&Icmpv6::checksum, at(2), 16>, Field<&Icmpv6::word, at(4), 32>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Icmpv6> parse(Bytes packet) { return read<Icmpv6>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Icmpv6&) const = default;
};

struct RouterAdvertisement {
    static constexpr std::size_t size = 16;

    std::uint16_t checksum = 0;
    std::uint8_t hop_limit = 0;  ///< 0: unspecified, as all of the below
    bool managed = false;
    bool other_configuration = false;
    std::uint16_t lifetime = 0;    ///< seconds; 0: not a default router
    std::uint32_t reachable = 0;   ///< milliseconds
    std::uint32_t retransmit = 0;  ///< milliseconds

    using Layout =
        Fields<Constant<at(0), 8, icmpv6_type::router_advertisement, Malformed::version>,
               Constant<at(1), 8, 0, Malformed::version>, Field<&RouterAdvertisement::checksum, at(2), 16>,
               Field<&RouterAdvertisement::hop_limit, at(4), 8>, Field<&RouterAdvertisement::managed, at(5), 1>,
               Field<&RouterAdvertisement::other_configuration, at(5, 1), 1>, Reserved<at(5, 2), 6>,
               Field<&RouterAdvertisement::lifetime, at(6), 16>, Field<&RouterAdvertisement::reachable, at(8), 32>,
               Field<&RouterAdvertisement::retransmit, at(12), 32>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<RouterAdvertisement> parse(Bytes packet) { return read<RouterAdvertisement>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const RouterAdvertisement&) const = default;
};

/// Neighbour solicitation or advertisement, by `type`.
struct NeighbourMessage {
    static constexpr std::size_t size = 24;

    std::uint8_t type = icmpv6_type::neighbour_solicitation;
    std::uint16_t checksum = 0;
    bool router = false;  ///< flags of the advertisement
    bool solicited = false;
    bool override_cached = false;
    Ipv6Address target{};

    using Layout =
        Fields<Field<&NeighbourMessage::type, at(0), 8>, Constant<at(1), 8, 0, Malformed::version>,
               Field<&NeighbourMessage::checksum, at(2), 16>, Field<&NeighbourMessage::router, at(4), 1>,
               Field<&NeighbourMessage::solicited, at(4, 1), 1>, Field<&NeighbourMessage::override_cached, at(4, 2), 1>,
               Reserved<at(4, 3), 29>, Field<&NeighbourMessage::target, at(8), 128>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<NeighbourMessage> parse(Bytes packet) {
        const auto message = read<NeighbourMessage>(packet);
        if (message && message->type != icmpv6_type::neighbour_solicitation &&
            message->type != icmpv6_type::neighbour_advertisement)
            return std::unexpected(Malformed::version);
        return message;
    }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const NeighbourMessage&) const = default;
};

struct NdRedirect {
    static constexpr std::size_t size = 40;

    std::uint16_t checksum = 0;
    Ipv6Address target{};  ///< the better next hop
    Ipv6Address destination{};

    using Layout =
        Fields<Constant<at(0), 8, icmpv6_type::redirect, Malformed::version>, Constant<at(1), 8, 0, Malformed::version>,
               Field<&NdRedirect::checksum, at(2), 16>, Reserved<at(4), 32>, Field<&NdRedirect::target, at(8), 128>,
               Field<&NdRedirect::destination, at(24), 128>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<NdRedirect> parse(Bytes packet) { return read<NdRedirect>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const NdRedirect&) const = default;
};

namespace nd_option {
constexpr std::uint8_t source_link_address = 1, target_link_address = 2, prefix_information = 3, redirected_header = 4,
                       mtu = 5, nonce = 14;
}

/// View of one option: `bytes` includes type and length.
struct NdOption {
    std::uint8_t type = 0;
    Bytes bytes;
};

/// Iterates over the options of a message. A length of zero or beyond the end stops it as malformed.
class NdOptions {
public:
    constexpr explicit NdOptions(Bytes options) : rest_(options) {}

    /// The next option; nullopt at the end.
    constexpr Parsed<std::optional<NdOption>> next() {
        if (rest_.empty()) return std::nullopt;
        if (rest_.size() < 2) return std::unexpected(Malformed::truncated);
        const std::size_t length = std::size_t{load8(rest_, 1)} * 8;
        if (length == 0) return std::unexpected(Malformed::length);
        if (length > rest_.size()) return std::unexpected(Malformed::truncated);
        const NdOption option{load8(rest_, 0), rest_.first(length)};
        rest_ = rest_.subspan(length);
        return option;
    }

private:
    Bytes rest_;
};

/// Source or target link-layer address option. LinkAddress: MacAddress (8 bytes) or IpoibAddress (24 bytes).
template <class LinkAddress>
struct NdLinkAddress {
    static constexpr std::size_t address_size = std::same_as<LinkAddress, IpoibAddress> ? 20 : 6;
    static constexpr std::size_t padding = std::same_as<LinkAddress, IpoibAddress> ? 2 : 0;
    static constexpr std::size_t size = 2 + padding + address_size;

    std::uint8_t type = nd_option::source_link_address;
    LinkAddress address{};

    using Type = Field<&NdLinkAddress::type, at(0), 8>;
    using Length = Constant<at(1), 8, size / 8, Malformed::length>;
    using Address = Field<&NdLinkAddress::address, at(2 + padding), 8 * address_size>;
    using Layout = std::conditional_t<padding != 0, Fields<Type, Length, Reserved<at(2), 8 * padding>, Address>,
                                      Fields<Type, Length, Address>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<NdLinkAddress> parse(Bytes packet) { return read<NdLinkAddress>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const NdLinkAddress&) const = default;
};

struct NdMtu {
    static constexpr std::size_t size = 8;

    std::uint32_t mtu = 0;

    using Layout = Fields<Constant<at(0), 8, nd_option::mtu, Malformed::version>,
                          Constant<at(1), 8, 1, Malformed::length>, Reserved<at(2), 16>, Field<&NdMtu::mtu, at(4), 32>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<NdMtu> parse(Bytes packet) { return read<NdMtu>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const NdMtu&) const = default;
};

/// By which a host knows its own probe when it comes back (RFC 7527, 4; RFC 3971, 5.3.2): six bytes, as hosts send.
struct NdNonce {
    static constexpr std::size_t size = 8;

    std::uint64_t nonce = 0;  ///< 48 bits

    using Layout = Fields<Constant<at(0), 8, nd_option::nonce, Malformed::version>,
                          Constant<at(1), 8, 1, Malformed::length>, Field<&NdNonce::nonce, at(2), 48>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<NdNonce> parse(Bytes packet) { return read<NdNonce>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const NdNonce&) const = default;
};

struct NdPrefix {
    static constexpr std::size_t size = 32;

    std::uint8_t length = 64;
    bool on_link = false;
    bool autonomous = false;
    std::uint32_t valid = 0;      ///< seconds; all ones: infinite
    std::uint32_t preferred = 0;  ///< seconds; all ones: infinite
    Ipv6Address prefix{};

    using Layout =
        Fields<Constant<at(0), 8, nd_option::prefix_information, Malformed::version>,
               Constant<at(1), 8, 4, Malformed::length>, Field<&NdPrefix::length, at(2), 8>,
               Field<&NdPrefix::on_link, at(3), 1>, Field<&NdPrefix::autonomous, at(3, 1), 1>, Reserved<at(3, 2), 6>,
               Field<&NdPrefix::valid, at(4), 32>, Field<&NdPrefix::preferred, at(8), 32>, Reserved<at(12), 32>,
               Field<&NdPrefix::prefix, at(16), 128>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<NdPrefix> parse(Bytes packet) { return read<NdPrefix>(packet); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const NdPrefix&) const = default;
};

}  // namespace verbline::wire
