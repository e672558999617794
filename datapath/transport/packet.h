// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A received transport packet, parsed as its opcode requires; and the BTH of an outgoing one.

#include <cstdint>
#include <optional>

#include "datapath/link/arrival.h"
#include "datapath/link/part.h"
#include "datapath/transport/opcode.h"
#include "datapath/wire/bth.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/deth.h"
#include "datapath/wire/types.h"

struct rte_mbuf;

namespace verbline::transport {

/// Refers to the mbuf's bytes; valid as long as the mbuf.
struct Packet {
    rte_mbuf* mbuf = nullptr;
    link::Arrival arrival;
    const OpcodeTraits* traits = nullptr;
    std::uint8_t opcode = 0;
    bool solicited = false, ack_request = false, becn = false;
    bool own_multicast = false;  ///< this port sent it to a group; set by the receiver, not by `parse`
    wire::PKey pkey{};
    wire::Qpn destination{};
    wire::Psn psn;
    wire::Bytes headers;  ///< from behind the BTH
    wire::Bytes payload;  ///< without padding

    Operation operation() const { return traits->operation; }
    wire::Bytes frame() const;
    /// Headers behind the XRCETH, if there is one.
    wire::Bytes after_xrceth() const {
        return headers.subspan(traits->service == Service::xrc && traits->is_request() ? wire::XrcEth::size : 0);
    }
};

enum class PacketFault : std::uint8_t { opcode, length };

/// Destination QPN of a packet; may be called before `parse`.
wire::Qpn destination_of(const Packet& packet) noexcept;

/// Fills in `packet`, of which `mbuf` and `arrival` (from link::open_headers on the mbuf's first segment) are set.
/// Returns the fault, or nullopt on success.
std::optional<PacketFault> parse(Packet& packet) noexcept;

/// The DETH of a parsed UD packet.
inline wire::View<wire::Deth> deth_of(const Packet& packet) {
    return link::part_at<wire::Deth>(packet.headers);
}

/// Writes a BTH as three words; same bytes as wire::Bth::emit (tested), which writes field by field.
struct BthWords {
    std::uint8_t opcode = 0;
    bool solicited = false, ack_request = false, becn = false;
    std::uint8_t pad = 0;
    wire::PKey pkey{};
    wire::Qpn destination{};
    wire::Psn psn;

    void emit(wire::MutableBytes out) const noexcept {
        constexpr std::uint32_t migrated = 0x40;  // what hardware sends; receivers accept either
        wire::store32(out, 0,
                      std::uint32_t{opcode} << 24 | (std::uint32_t{solicited} << 7 | migrated | pad << 4u) << 16 |
                          static_cast<std::uint16_t>(pkey));
        wire::store32(out, 4, std::uint32_t{becn} << 30 | static_cast<std::uint32_t>(destination));
        wire::store32(out, 8, std::uint32_t{ack_request} << 31 | psn.value());
    }
};

constexpr std::uint8_t padding_of(std::size_t payload) {
    return static_cast<std::uint8_t>(-payload & 3);
}

}  // namespace verbline::transport
