// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/launch/program_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <fmt/format.h>

#include "pmd/base/file_descriptor.h"

namespace verbline::verbs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_interpreter_line = 256;  // BINPRM_BUF_SIZE of Linux
constexpr unsigned max_segments = 1024;

bool executable(const fs::path& file) {
    std::error_code problem;
    return fs::is_regular_file(file, problem) && access(file.c_str(), X_OK) == 0;
}

/// Reads one `Value` at `offset`.
template <class Value>
std::optional<Value> load(const FileDescriptor& file, std::uint64_t offset) {
    Value value{};
    if (pread(file.get(), &value, sizeof value, static_cast<off_t>(offset)) != sizeof value) return std::nullopt;
    return value;
}

template <class Header, class Segment>
std::optional<ElfKind> read_kind(const FileDescriptor& file, std::uint8_t bits) {
    const auto header = load<Header>(file, 0);
    if (!header || header->e_phentsize < sizeof(Segment)) return std::nullopt;
    ElfKind kind{.bits = bits, .machine = header->e_machine};
    for (unsigned i = 0; i < std::min<unsigned>(header->e_phnum, max_segments); ++i) {
        const auto segment = load<Segment>(file, header->e_phoff + std::uint64_t{i} * header->e_phentsize);
        if (segment && segment->p_type == PT_INTERP) kind.dynamic = true;
    }
    return kind;
}

/// "64-bit x86-64".
std::string name(const ElfKind& kind) {
    const auto machine = [&]() -> std::string {
        switch (kind.machine) {
            case EM_X86_64: return kind.bits == 32 ? "x32" : "x86-64";
            case EM_386: return "x86";
            case EM_AARCH64: return "Arm";
            case EM_ARM: return "Arm";
            case EM_PPC64: return "POWER";
            case EM_RISCV: return "RISC-V";
            case EM_S390: return "s390";
            default: return fmt::format("ELF machine {}", kind.machine);
        }
    }();
    return fmt::format("{}-bit {}", kind.bits, machine);
}

/// The interpreter that a script's first line names; empty: the file is no script.
fs::path interpreter(const fs::path& file) {
    std::array<char, longest_interpreter_line> start{};
    const FileDescriptor in(open(file.c_str(), O_RDONLY | O_CLOEXEC));
    const auto length = in ? read(in.get(), start.data(), start.size()) : -1;
    std::string_view line(start.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    if (!line.starts_with("#!")) return {};
    line = line.substr(2, std::min(line.find('\n'), line.size()) - 2);
    const auto begin = line.find_first_not_of(" \t");
    if (begin == line.npos) return {};
    line.remove_prefix(begin);
    return line.substr(0, line.find_first_of(" \t"));
}

/// The loader ignores LD_PRELOAD where a program gets rights that its caller lacks (ld.so(8), secure-execution mode).
bool gains_rights(const fs::path& program) {
    struct stat file{};
    if (stat(program.c_str(), &file) != 0) return false;
    if ((file.st_mode & S_ISUID) != 0 && file.st_uid != geteuid()) return true;
    if ((file.st_mode & S_ISGID) != 0 && (file.st_mode & S_IXGRP) != 0 && file.st_gid != getegid()) return true;
    return geteuid() != 0 && getxattr(program.c_str(), "security.capability", nullptr, 0) > 0;
}

}  // namespace

Result<fs::path> find_program(const std::string& name, std::string_view path) {
    std::error_code problem;
    if (name.find('/') != name.npos) {
        if (executable(name)) return name;
        if (!fs::exists(name, problem)) return failure(ENOENT, fmt::format("there is no program {}", name));
        return failure(EACCES, fmt::format("{} is no program that you may execute", name));
    }
    while (!name.empty()) {
        const auto colon = path.find(':');
        const auto directory = path.substr(0, colon);
        const auto candidate = fs::path(directory.empty() ? "." : directory) / name;  // POSIX: empty means here
        if (executable(candidate)) return candidate;
        if (colon == path.npos) break;
        path.remove_prefix(colon + 1);
    }
    return failure(ENOENT, fmt::format("there is no program {} in PATH; install it or give its path", name));
}

Result<ElfKind> elf_kind(const fs::path& file) {
    const FileDescriptor in(open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!in) return failure(errno, fmt::format("cannot read {}: {}", file.string(), std::strerror(errno)));
    const auto ident = load<std::array<unsigned char, EI_NIDENT>>(in, 0);
    const bool elf = ident && std::memcmp(ident->data(), ELFMAG, SELFMAG) == 0;
    std::optional<ElfKind> kind;
    if (elf && (*ident)[EI_CLASS] == ELFCLASS64) kind = read_kind<Elf64_Ehdr, Elf64_Phdr>(in, 64);
    if (elf && (*ident)[EI_CLASS] == ELFCLASS32) kind = read_kind<Elf32_Ehdr, Elf32_Phdr>(in, 32);
    if (!kind) return failure(ENOEXEC, fmt::format("{} is no ELF file", file.string()));
    return *kind;
}

Result<void> check_preload(const fs::path& program, const fs::path& library) {
    const auto ours = elf_kind(library);
    if (!ours) return std::unexpected(ours.error());
    const auto script_by = interpreter(program);
    const auto& loaded = script_by.empty() ? program : script_by;
    const auto kind = elf_kind(loaded);
    if (!kind && kind.error().code == EACCES) return {};  // executable, but not readable: left to the loader
    if (!kind && script_by.empty() && kind.error().code == ENOEXEC) return {};  // a script without #!: sh runs it
    if (!kind) return failure(kind.error().code, fmt::format("{}: {}", program.string(), kind.error().what));
    if (!kind->same_architecture(*ours))
        return failure(ENOEXEC, fmt::format("{} is a {} program and {} is for {}; use a program or a build of Verbline "
                                            "that fits the other",
                                            loaded.string(), name(*kind), library.filename().string(), name(*ours)));
    if (!kind->dynamic)
        return failure(ENOEXEC,
                       fmt::format("{} is linked statically, so no library can be put into it; use one that is "
                                   "linked dynamically",
                                   loaded.string()));
    if (gains_rights(loaded))
        return failure(EPERM,
                       fmt::format("{} is setuid, setgid or has capabilities, so the loader puts no library into "
                                   "it; run it as the user whose rights it takes",
                                   loaded.string()));
    return {};
}

}  // namespace verbline::verbs
