// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Variant CRC: the link-level check of an InfiniBand packet, from the LRH through the ICRC, recomputed on each link.
///
/// CRC-16 with generator x^16 + x^12 + x^3 + x + 1, least significant bit of each byte first, from all ones,
/// complemented, sent least significant byte first (IBTA volume 1, 7.8.2).

#include <array>
#include <cstddef>
#include <cstdint>

#include "datapath/wire/bytes.h"

namespace verbline::wire {

constexpr std::size_t vcrc_size = 2;

/// Incremental VCRC, for packets in several pieces.
class Vcrc {
public:
    /// Implementations, with equal results: by table, by carry-less multiplication with 128-bit or 512-bit registers.
    enum class Engine : std::uint8_t { table, carryless, carryless_wide };
    static bool available(Engine engine);
    static Engine best();

    explicit Vcrc(Engine engine = best()) : engine_(engine) {}

    void add(Bytes bytes);

    /// True if the bytes added end with their own correct VCRC.
    bool verifies() const;

    std::uint16_t value() const { return static_cast<std::uint16_t>(~state_); }
    /// The value in wire format.
    std::array<std::byte, vcrc_size> bytes() const;

private:
    friend class Icrc;  // which continues both CRCs in one pass

    Engine engine_;
    std::uint16_t state_ = 0xffff;
};

}  // namespace verbline::wire
