// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a program may call and use (verbline_program.h), as rte_bpf is told of it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <rte_bpf.h>

#include "datapath/program/prefix_table.h"
#include "datapath/program/verbline_program.h"

namespace verbline::program {

/// What one shard keeps for a port's programs. A program writes it by itself, on the shard's thread; others may read
/// the counters at any time.
struct alignas(64) ShardMemory {
    std::array<std::uint64_t, VERBLINE_COUNTERS> counters{};
    std::array<std::uint64_t, VERBLINE_STATE> state{};
};

/// A port's number under the name by which programs know it.
struct PortSymbol {
    std::string name;
    std::uint64_t number = 0;
};
/// By the ports' names, in the order of their numbers: what is no letter or digit becomes '_'.
std::vector<PortSymbol> port_symbols(std::span<const std::string> names);

/// The symbols refer to all arguments, which must outlive the program.
std::vector<rte_bpf_xsym> symbols(ShardMemory& memory, std::span<PortSymbol> ports);

/// While it exists, programs that this thread runs look addresses up in these tables. rte_bpf passes the functions that
/// a program calls what the program gives them, and nothing else; a handle from there would have to be checked each
/// time.
class LookUpIn {
public:
    explicit LookUpIn(const PrefixTables& tables) noexcept;
    LookUpIn(const LookUpIn&) = delete;
    LookUpIn& operator=(const LookUpIn&) = delete;
    ~LookUpIn();
};

}  // namespace verbline::program
