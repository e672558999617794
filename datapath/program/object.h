// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Reads a program's instructions from an eBPF object: ELF (libelf), as `clang -target bpf -c` writes it.
///
/// The file is not trusted: sizes are bounded, and what does not hold together is an error. Whether the instructions
/// are safe to run is the verifier's to say (program.h).

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <bpf_def.h>

#include "pmd/base/error.h"

namespace verbline::program {

/// One program.
struct Object {
    /// An instruction that names something outside of the program.
    struct Reference {
        std::size_t instruction;  ///< a call, or the first of the two of a 64-bit load
        std::string symbol;
    };
    std::string section;
    std::vector<ebpf_insn> instructions;
    std::vector<Reference> references;
};

constexpr std::size_t max_object_bytes = 1 << 20;
constexpr std::size_t max_instructions = 4'096;

/// Reads the program in `section` of an object's bytes; an empty `section` stands for the only one there is. An error
/// is a reason, one line, with what to do.
std::expected<Object, std::string> parse_object(std::span<char> bytes, std::string_view section);
/// The same of a file. Errors are `FILE: reason`.
Result<Object> read_object(const std::string& file, std::string_view section);

}  // namespace verbline::program
