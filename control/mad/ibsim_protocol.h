// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The datagrams that ibsim, the InfiniBand fabric simulator, exchanges with its clients over abstract Unix sockets:
///
///     control   @FABRIC:ctl   <──>  @FABRIC:ctlID    80 bytes: connect, disconnect, look at the port
///     MADs      @FABRIC:outN  <──>  @FABRIC:inID    288 bytes: addresses, status, one MAD
///
/// ID is the client's choice and must be unique on the fabric; N is the slot that ibsim gives it on connecting. Socket
/// names end with their NUL. Control messages are in the byte order of the host (both ends are on it); addresses of
/// MADs are big-endian. LIDs are 16 bits in 32-bit fields: the LID is in the first two bytes.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "control/mad/transport.h"
#include "datapath/wire/bytes.h"

namespace verbline::mad::ibsim {

static_assert(std::endian::native == std::endian::little, "ibsim's LID fields were only seen on little-endian hosts");

enum class Command : std::uint32_t {
    error = 0,  ///< reply only
    connect = 1,
    disconnect = 2,
    get_node_info = 7,
    get_port_info = 8,
    get_pkeys = 10,
};

/// A request or its reply, of the same layout.
struct Control {
    static constexpr std::uint32_t expected_magic = 0xdeadbeef;

    std::uint32_t magic = expected_magic;
    std::uint32_t slot = 0;
    Command command = Command::error;
    std::uint32_t length = 0;
    std::array<std::byte, 64> data{};
};
static_assert(sizeof(Control) == 80);

/// The data of a connect request; in the reply `id` is the slot.
struct Connect {
    std::uint32_t id = 0;
    std::uint32_t qpn = 0;  ///< above 1: MADs of any class sent to this QPN are ours
    std::uint32_t is_sm = 0;
    std::array<char, 32> host{};  ///< node name or description; empty: the first node of the topology
};
static_assert(sizeof(Connect) == 44);

template <class Message>
std::array<std::byte, sizeof(Message)> bytes_of(const Message& message) {
    return std::bit_cast<std::array<std::byte, sizeof(Message)>>(message);
}

constexpr std::size_t max_clients = 10, max_host_name = 31;

/// One MAD with its addresses.
struct Datagram {
    static constexpr std::size_t size = 288, mad_at = 32;
    static constexpr std::uint32_t nobody = 110;  ///< status of a MAD returned as undeliverable

    wire::Lid dlid{}, slid{};
    wire::Qpn dqpn{}, sqpn{};
    std::uint32_t status = 0;
    MadBuffer mad{};
    std::size_t length = wire::mad_size;  ///< of `mad`; the rest is zeros

    using Bytes = std::array<std::byte, size>;

    Bytes bytes() const {
        Bytes out{};
        wire::store16(out, 0, static_cast<std::uint16_t>(dlid));
        wire::store16(out, 4, static_cast<std::uint16_t>(slid));
        wire::store32(out, 8, static_cast<std::uint32_t>(dqpn));
        wire::store32(out, 12, static_cast<std::uint32_t>(sqpn));
        wire::store32(out, 16, status);
        wire::store64(out, 24, wire::mad_size);
        std::ranges::copy(mad, out.begin() + mad_at);
        return out;
    }

    /// None if the lengths are not those of a MAD. Missing bytes of a short MAD read as zero.
    static std::optional<Datagram> parse(std::span<const std::byte> in) {
        constexpr std::size_t smallest_mad = 24;
        if (in.size() < mad_at + smallest_mad || in.size() > size) return std::nullopt;
        const auto length = wire::load64(in, 24);
        if (length < smallest_mad || length > wire::mad_size) return std::nullopt;
        Datagram d{.dlid = wire::Lid{wire::load16(in, 0)},
                   .slid = wire::Lid{wire::load16(in, 4)},
                   .dqpn = wire::Qpn{wire::load32(in, 8) & 0xffffff},
                   .sqpn = wire::Qpn{wire::load32(in, 12) & 0xffffff},
                   .status = wire::load32(in, 16),
                   .length = length};
        std::ranges::copy(in.subspan(mad_at).first(std::min<std::size_t>(length, in.size() - mad_at)), d.mad.begin());
        return d;
    }
};

}  // namespace verbline::mad::ibsim
