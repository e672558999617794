// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Invariant CRC: the end-to-end check of every InfiniBand transport packet, over all fields that switches and routers
/// must not change.
///
/// CRC-32 of Ethernet over the packet from its network header to its padding, with some fields replaced by ones:
///
///     first header     counts as ones                                                      standard
///     IPv4 (RoCE v2)   type of service, time to live, header checksum; UDP checksum        IBTA annex A17
///     IPv6 (RoCE v2)   traffic class, flow label, hop limit; UDP checksum                  A17
///     GRH              traffic class, flow label, hop limit                                7.8.1, A16
///     LRH              virtual lane                                                        7.8.1
///     each             BTH byte 4: FECN, BECN and what is reserved beside them
///
/// Eight bytes of ones in place of an LRH come before the first three. A GRH counts as first header also when an LRH is
/// before it: nothing in that LRH is invariant. Ethernet and VLAN headers are never covered.
///
/// The value is sent least significant byte first, unlike anything else (7.8.1).

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "datapath/wire/bth.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/header.h"
#include "datapath/wire/icrc_shift.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/lrh.h"
#include "datapath/wire/udp.h"
#include "datapath/wire/vcrc.h"

namespace verbline::wire {

constexpr std::size_t icrc_size = 4;

/// The header at which the covered part of a packet begins.
enum class IcrcOver : std::uint8_t { ipv4, ipv6, grh, lrh };

/// Bytes from there through the BTH, which must be contiguous.
constexpr std::size_t icrc_headers(IcrcOver first) {
    switch (first) {
        case IcrcOver::ipv4: return Ipv4::size + Udp::size + Bth::size;
        case IcrcOver::ipv6: return Ipv6::size + Udp::size + Bth::size;
        case IcrcOver::grh: return Grh::size + Bth::size;
        case IcrcOver::lrh: return Lrh::size + Bth::size;
    }
    std::unreachable();
}

/// Incremental ICRC, for packets in several pieces.
class Icrc {
public:
    /// `head`: the packet from its first covered byte, at least `icrc_headers` bytes (else `truncated`); all of it is
    /// included. `Malformed::length` for an IPv4 header with options, which RoCE does not have (A17).
    static Parsed<Icrc> begin(IcrcOver first, Bytes head) {
        if (const auto fault = fault_of(first, head)) return std::unexpected(*fault);
        return Icrc(over_headers(first, head));
    }
    /// The same, and adds `head` to `vcrc`: where the CPU allows it, in one pass that takes as long as the ICRC alone.
    static Parsed<Icrc> begin(IcrcOver first, Bytes head, Vcrc& vcrc);
    /// Includes the next bytes.
    void add(Bytes bytes);
    /// Includes so many bytes of zeros.
    void add(const IcrcZeros& zeros);

    std::uint32_t value() const { return crc_; }
    /// The value in wire format.
    std::array<std::byte, icrc_size> bytes() const;

    /// True if the bytes included end with their own correct ICRC: that always leaves the same remainder.
    bool verifies() const { return crc_ == 0x2144'df1c; }

private:
    explicit Icrc(std::uint32_t crc) : crc_(crc) {}
    static std::optional<Malformed> fault_of(IcrcOver first, Bytes head) {
        if (head.size() < icrc_headers(first)) return Malformed::truncated;
        if (first == IcrcOver::ipv4 && load8(head, 0) != 0x45) return Malformed::length;
        return std::nullopt;
    }
    static std::uint32_t over_headers(IcrcOver first, Bytes head);

    std::uint32_t crc_;
};

/// Writes the ICRC into the last four bytes of `packet`. Returns false, writing nothing, if it is too short or `begin`
/// fails.
bool write_icrc(IcrcOver first, MutableBytes packet);

/// True if the last four bytes of `packet` are its ICRC.
bool icrc_ok(IcrcOver first, Bytes packet);

}  // namespace verbline::wire
