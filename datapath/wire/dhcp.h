// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Dynamic Host Configuration Protocol for IPv4: a BOOTP message, whose vendor area begins with a cookie and holds
/// options.
///
///      0                   1                   2                   3
///      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
///     +---------------+---------------+---------------+---------------+
///     |      op       |     htype     |     hlen      |     hops      |
///     +---------------+---------------+---------------+---------------+
///     |                              xid                              |
///     +-------------------------------+-+-----------------------------+
///     |             secs              |B|          reserved           |
///     +-------------------------------+-+-----------------------------+
///     |                            ciaddr                             |
///     |                            yiaddr                             |
///     |                            siaddr                             |
///     |                            giaddr                             |
///     +---------------------------------------------------------------+
///     |     chaddr, 16 bytes; sname, 64 bytes; file, 128 bytes        |
///     +---------------------------------------------------------------+
///     |                    63 82 53 63, then options                  |
///     +---------------------------------------------------------------+
///
/// RFC 2131, 2; RFC 951. Clients on IPoIB send htype 32, hlen 0 and no chaddr, as 20 bytes do not fit, and set B
/// (RFC 4390, 2.1).

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "datapath/wire/header.h"
#include "datapath/wire/types.h"

namespace verbline::wire {

constexpr std::uint16_t dhcp_server_port = 67, dhcp_client_port = 68;  ///< UDP; relays have the server's

enum class DhcpOp : std::uint8_t { request = 1, reply = 2 };

struct Dhcp {
    static constexpr std::size_t size = 240;
    static constexpr std::size_t smallest_message = 300;  ///< with options, that every receiver takes (RFC 1542, 2.1)

    DhcpOp op{};
    std::uint8_t hardware_type = 0;  ///< as ARP's
    std::uint8_t hardware_length = 0;
    std::uint8_t hops = 0;
    std::uint32_t transaction = 0;
    std::uint16_t seconds = 0;
    bool broadcast = false;  ///< the client can receive no unicast yet
    Ipv4Address client{};    ///< ciaddr
    Ipv4Address your{};      ///< yiaddr
    Ipv4Address server{};    ///< siaddr
    Ipv4Address relay{};     ///< giaddr; zero: from the client itself
    std::array<std::byte, 16> hardware{};
    std::array<std::byte, 64> server_name{};
    std::array<std::byte, 128> file{};

    using Layout =
        Fields<Field<&Dhcp::op, at(0), 8>, Field<&Dhcp::hardware_type, at(1), 8>,
               Field<&Dhcp::hardware_length, at(2), 8>, Field<&Dhcp::hops, at(3), 8>,
               Field<&Dhcp::transaction, at(4), 32>, Field<&Dhcp::seconds, at(8), 16>,
               Field<&Dhcp::broadcast, at(10), 1>, Reserved<at(10, 1), 15>, Field<&Dhcp::client, at(12), 32>,
               Field<&Dhcp::your, at(16), 32>, Field<&Dhcp::server, at(20), 32>, Field<&Dhcp::relay, at(24), 32>,
               Field<&Dhcp::hardware, at(28), 128>, Field<&Dhcp::server_name, at(44), 512>,
               Field<&Dhcp::file, at(108), 1024>, Constant<at(236), 32, 0x63825363, Malformed::version>>;
    static_assert(Layout::tile(size));

    static constexpr Parsed<Dhcp> parse(Bytes message) { return read<Dhcp>(message); }
    constexpr void emit(std::span<std::byte, size> out) const { write(*this, out); }
    bool operator==(const Dhcp&) const = default;
};

namespace dhcp_option {
constexpr std::uint8_t pad = 0, relay_agent = 82, end = 255;  ///< RFC 2132, 3; RFC 3046, 2
constexpr std::uint8_t circuit_id = 1;                        ///< a part of relay_agent
}  // namespace dhcp_option

/// The options behind a Dhcp header: a code, the length of the value, the value. Refers to the caller's bytes.
class DhcpOptions {
public:
    struct Option {
        std::uint8_t code;
        Bytes value;
        std::size_t at, size;  ///< of the whole option, from the first one
    };

    /// `area`: all that is behind the header. truncated: an option ends behind it. The end option may be missing.
    static constexpr Parsed<DhcpOptions> parse(Bytes area) {
        std::size_t at = 0;
        while (at < area.size() && load8(area, at) != dhcp_option::end) {
            const auto size = size_at(area, at);
            if (!size) return std::unexpected(Malformed::truncated);
            at += *size;
        }
        return DhcpOptions(area.first(at));
    }

    /// Bytes of all options, pads included: where the end option is, or belongs.
    constexpr std::size_t size() const { return list_.size(); }

    /// Calls `use(Option)` for each in turn, except pads.
    constexpr void each(auto use) const {
        for (std::size_t at = 0; at < list_.size();) {
            const auto size = *size_at(list_, at);
            if (load8(list_, at) != dhcp_option::pad)
                use(Option{load8(list_, at), list_.subspan(at + 2, size - 2), at, size});
            at += size;
        }
    }

    /// The value of the first of that code.
    constexpr std::optional<Bytes> find(std::uint8_t code) const {
        std::optional<Bytes> found;
        each([&](const Option& option) {
            if (!found && option.code == code) found = option.value;
        });
        return found;
    }

private:
    constexpr explicit DhcpOptions(Bytes list) : list_(list) {}

    /// Of the option or pad at `at`; none: it does not end within `area`.
    static constexpr std::optional<std::size_t> size_at(Bytes area, std::size_t at) {
        if (load8(area, at) == dhcp_option::pad) return 1;
        const auto rest = area.size() - at;
        if (rest < 2 || rest - 2 < load8(area, at + 1)) return std::nullopt;
        return std::size_t{2} + load8(area, at + 1);
    }

    Bytes list_;
};

/// The first part of that code in the value of option 82, whose parts are written as options, without pads and end
/// (RFC 3046, 2.0). None as well if an earlier part ends behind the value.
constexpr std::optional<Bytes> relay_agent_part(Bytes value, std::uint8_t code) {
    for (std::size_t at = 0; value.size() - at >= 2;) {
        const std::size_t size = load8(value, at + 1);
        if (value.size() - at - 2 < size) return std::nullopt;
        if (load8(value, at) == code) return value.subspan(at + 2, size);
        at += 2 + size;
    }
    return std::nullopt;
}

}  // namespace verbline::wire
