// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The files of programs: where a command is, and whether a library can be preloaded into it.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "pmd/base/error.h"

namespace verbline::verbs {

/// As execvp(3) finds it: through `path` (as in PATH) unless the name has a slash. Returns an executable file, or why
/// there is none.
Result<std::filesystem::path> find_program(const std::string& name, std::string_view path);

/// The ELF properties that decide whether two files can be loaded into one process.
struct ElfKind {
    std::uint8_t bits = 0;      ///< 32 or 64
    std::uint16_t machine = 0;  ///< e_machine
    bool dynamic = false;       ///< names a dynamic loader (PT_INTERP); a library need not

    bool same_architecture(const ElfKind& other) const { return bits == other.bits && machine == other.machine; }
};

/// ENOEXEC: not an ELF file.
Result<ElfKind> elf_kind(const std::filesystem::path& file);

/// Checks that the dynamic loader will preload `library` into `program`. For a script, its interpreter is checked.
Result<void> check_preload(const std::filesystem::path& program, const std::filesystem::path& library);

}  // namespace verbline::verbs
