// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Runs a port's program on bursts: one shard's end of it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/program/port_program.h"
#include "datapath/program/verbline_program.h"
#include "pmd/base/counter.h"
#include "pmd/base/time.h"
#include "pmd/netdev.h"

namespace verbline::program {

#define VERBLINE_PROGRAM_COUNTERS(X)                                                                     \
    X(program_passed, "packets that the port's program has let pass")                                    \
    X(program_dropped, "packets that the port's program has dropped")                                    \
    X(program_forwarded, "packets for which the port's program has chosen the port by which they leave") \
    X(program_aborted, "packets dropped as the port's program failed, or returned what is no verdict")   \
    X(program_no_port, "packets dropped as the port's program has chosen a port that there is not")

struct ProgramCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_PROGRAM_COUNTERS)
};

/// Of a packet, as its link says; none: no program sees it.
enum class Family : std::uint8_t { none = 0, ipv4 = 4, ipv6 = 6 };

/// Packets that leave by ports which a program has chosen.
struct Forwarded {
    std::array<rte_mbuf*, pmd::max_burst> packets;
    std::array<std::uint16_t, pmd::max_burst> ports;  ///< numbers, of ports that there are
    std::array<Family, pmd::max_burst> families;
    std::size_t size = 0;
};

/// What has become of a burst.
struct Outcome {
    std::size_t kept = 0;          ///< packets, in front
    std::uint64_t gone_bytes = 0;  ///< of the others, without a link's headers
};

/// Called by the shard's thread. Nothing is allocated.
class ProgramRunner {
public:
    /// `port` must outlive the runner.
    ProgramRunner(const PortProgram& port, std::uint16_t shard);

    /// Whether there is a program; another thread may change that at any time.
    bool active() const noexcept { return port_.current() != nullptr; }

    /// Takes ownership of packets, at most pmd::max_burst, whose IP headers are at offset `at`, and runs the program on
    /// each that is of a family. Those that pass, and those of none, become the first of the burst, in their order.
    /// Those that it forwards are in `forwarded`, whose old contents are forgotten; the others are freed. Without a
    /// program all pass.
    Outcome run(pmd::Burst packets, std::span<const Family> families, std::size_t at, Time now,
                Forwarded& forwarded) noexcept;

    const ProgramCounters& counters() const { return counters_; }

private:
    void show(const rte_mbuf& packet, std::size_t at, std::size_t reach) noexcept;

    const PortProgram& port_;
    std::uint16_t shard_;
    alignas(64) verbline_packet shown_{};  ///< to the program, of the packet at hand
    ProgramCounters counters_;
};

}  // namespace verbline::program
