// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A program that may run: verified by rte_bpf, and compiled where it has a compiler for this processor, once for each
/// shard, as each has its own counters and state in the code.
///
/// How much of a packet's data it reaches, the verifier says: it accepts the program also with an argument that ends
/// behind those bytes. Only they are copied for it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <rte_bpf.h>

#include "datapath/program/functions.h"
#include "datapath/program/object.h"
#include "datapath/program/verbline_program.h"
#include "datapath/program/verifier_log.h"
#include "pmd/base/error.h"

namespace verbline::program {

class Program {
public:
    /// `memory`, by shard, must outlive the program. `ports`: all ports' names, by number. Takes up to a millisecond
    /// for each shard, and four more. Errors are a reason without the file's name.
    static Result<std::unique_ptr<Program>> load(const Object& object, std::span<ShardMemory> memory,
                                                 std::span<const std::string> ports, VerifierLog& log);
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    /// The program as one shard has it.
    struct Code {
        std::uint64_t (*function)(void*);  ///< null: it is interpreted
        const rte_bpf* loaded;

        /// The verdict of one packet. On the shard's thread, within a LookUpIn.
        std::uint64_t operator()(verbline_packet& packet) const noexcept {
            return function != nullptr ? function(&packet) : rte_bpf_exec(loaded, &packet);
        }
    };
    Code code(std::size_t shard) const noexcept { return {shards_[shard].function, shards_[shard].loaded.get()}; }

    /// Bytes of verbline_packet::data that it may read or write: a multiple of `reach_step`. The others need not be
    /// there.
    std::size_t reach() const noexcept { return reach_; }
    static constexpr std::size_t reach_step = 32;

    /// Whether it runs as code of this processor; else it is interpreted.
    bool compiled() const { return shards_.front().function != nullptr; }
    const std::string& section() const { return section_; }
    std::size_t instructions() const { return instructions_; }

private:
    struct Free {
        void operator()(rte_bpf* loaded) const { rte_bpf_destroy(loaded); }
    };
    struct Shard {
        std::unique_ptr<rte_bpf, Free> loaded;
        std::uint64_t (*function)(void*) = nullptr;
    };

    Program(const Object& object, std::span<const std::string> ports);
    Result<Shard> load_shard(const Object& object, ShardMemory& memory, std::size_t reach, VerifierLog& log);
    std::size_t find_reach(const Object& object, ShardMemory& memory, VerifierLog& log);

    std::string section_;
    std::size_t instructions_;
    std::vector<PortSymbol> ports_;  ///< whose numbers the program reads
    std::vector<Shard> shards_;
    std::size_t reach_ = VERBLINE_DATA_SIZE;
};

}  // namespace verbline::program
