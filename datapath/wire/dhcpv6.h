// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Dynamic Host Configuration Protocol for IPv6: what a relay agent reads and writes.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +---------------+-----------------------------------------------+
///     |     type      |                transaction id                 |   Dhcpv6: client and server; then options
///     +---------------+-----------------------------------------------+
///
///     +---------------+---------------+
///     |   12 or 13    |   hop count   |                                   Dhcpv6Relay: relay and server; then options,
///     +---------------+---------------+-------------------------------+   one of which is the message
///     |         link address, 16 bytes; peer address, 16 bytes        |
///     +---------------------------------------------------------------+
///
///     +-------------------------------+-------------------------------+
///     |             code              |            length             |   Dhcpv6Option, then the value
///     +-------------------------------+-------------------------------+
///
/// RFC 8415, 8, 9 and 21.1.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

constexpr std::uint16_t dhcpv6_client_port = 546, dhcpv6_server_port = 547;  ///< UDP; relays have the server's

/// ff02::1:2, all relays and servers of a link (RFC 8415, 7.1).
constexpr Ipv6Address dhcpv6_relays_and_servers{[] {
    Ipv6Address address;
    store16(address.bytes, 0, 0xff02);
    store32(address.bytes, 12, 0x10002);
    return address.bytes;
}()};

namespace dhcpv6_type {
constexpr std::uint8_t advertise = 2, reply = 7, reconfigure = 10, relay_forward = 12, relay_reply = 13;
}
namespace dhcpv6_option {
constexpr std::uint16_t relay_message = 9, interface_id = 18;  ///< RFC 8415, 21.10 and 21.18
constexpr std::uint16_t remote_id = 37;                        ///< RFC 4649: enterprise number, then its text
}  // namespace dhcpv6_option

struct Dhcpv6 {
    static constexpr std::size_t size = 4;

    std::uint8_t type = 0;
    std::uint32_t transaction = 0;  ///< 24 bits

    using Layout = Fields<Field<&Dhcpv6::type, at(0), 8>, Field<&Dhcpv6::transaction, at(1), 24>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Dhcpv6> parse(Bytes message) { return read<Dhcpv6>(message); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Dhcpv6&) const = default;
};

struct Dhcpv6Relay {
    static constexpr std::size_t size = 34;

    std::uint8_t type = dhcpv6_type::relay_forward;
    std::uint8_t hop_count = 0;
    Ipv6Address link{};  ///< an address of the client's link, by which the server chooses; zero: not said here
    Ipv6Address peer{};  ///< from whom the message came, and to whom a reply goes

    using Layout = Fields<Field<&Dhcpv6Relay::type, at(0), 8>, Field<&Dhcpv6Relay::hop_count, at(1), 8>,
                          Field<&Dhcpv6Relay::link, at(2), 128>, Field<&Dhcpv6Relay::peer, at(18), 128>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Dhcpv6Relay> parse(Bytes message) { return read<Dhcpv6Relay>(message); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Dhcpv6Relay&) const = default;
};

struct Dhcpv6Option {
    static constexpr std::size_t size = 4;

    std::uint16_t code = 0;
    std::uint16_t length = 0;  ///< of the value, bytes

    using Layout = Fields<Field<&Dhcpv6Option::code, at(0), 16>, Field<&Dhcpv6Option::length, at(2), 16>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Dhcpv6Option> parse(Bytes options) { return read<Dhcpv6Option>(options); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Dhcpv6Option&) const = default;
};

/// The options behind a header, to the end of the message. Refers to the caller's bytes.
class Dhcpv6Options {
public:
    /// truncated: an option ends behind `area`.
    static constexpr Parsed<Dhcpv6Options> parse(Bytes area) {
        for (auto rest = area; !rest.empty();) {
            const auto option = Dhcpv6Option::parse(rest);
            if (!option) return std::unexpected(option.error());
            rest = rest.subspan(Dhcpv6Option::size);
            if (option->length > rest.size()) return std::unexpected(Malformed::truncated);
            rest = rest.subspan(option->length);
        }
        return Dhcpv6Options(area);
    }

    /// The value of the first of that code.
    constexpr std::optional<Bytes> find(std::uint16_t code) const {
        for (auto rest = list_; !rest.empty();) {
            const auto option = *Dhcpv6Option::parse(rest);
            const auto value = rest.subspan(Dhcpv6Option::size, option.length);
            if (option.code == code) return value;
            rest = rest.subspan(Dhcpv6Option::size + option.length);
        }
        return std::nullopt;
    }

private:
    constexpr explicit Dhcpv6Options(Bytes list) : list_(list) {}

    Bytes list_;
};

}  // namespace verbline::wire
