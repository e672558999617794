// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The notification point (NP): the receiver of packets marked "congestion experienced" sends congestion notification
/// packets (CNP) to the sender's queue pair, at a limited rate.
///
///      0                                      12                              28 bytes
///     +--------------------------------------+-------------------------------+
///     | BTH: opcode 0x81, BECN, PSN 0        | 16 reserved bytes, 0          |
///     +--------------------------------------+-------------------------------+
///
/// IBTA annex A17, congestion management. The destination QP is the one whose packet was marked; IP, UDP and ICRC as
/// for any RoCE v2 packet.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "datapath/wire/bth.h"
#include "datapath/wire/types.h"
#include "pmd/base/time.h"

namespace verbline::congestion {

constexpr std::uint8_t cnp_opcode = 0x81;
constexpr std::size_t cnp_size = wire::Bth::size + 16;  ///< without ICRC

/// DCQCN's N: at most one CNP per queue pair in this time (SIGCOMM 2015, section 3).
constexpr Time default_cnp_interval = 50 * microsecond;

/// Rate limiter of CNPs, one for each receiving queue pair.
class CnpLimiter {
public:
    /// Call for each marked packet. True: send a CNP now.
    bool mark(Time now, Time interval = default_cnp_interval) noexcept {
        if (now < next_) return false;
        next_ = now + interval;
        return true;
    }

private:
    Time next_ = std::numeric_limits<Time>::min();
};

/// Writes a CNP to `out`. `destination` is the peer's queue pair. MigReq is 0, as ConnectX sends it.
inline void emit_cnp(std::span<std::byte, cnp_size> out, wire::Qpn destination, wire::PKey pkey) noexcept {
    const wire::Bth bth{
        .opcode = cnp_opcode, .migrated = false, .pkey = pkey, .becn = true, .dest = destination, .psn = wire::Psn(0)};
    bth.emit(out.first<wire::Bth::size>());
    std::ranges::fill(out.subspan<wire::Bth::size>(), std::byte{0});
}

}  // namespace verbline::congestion
