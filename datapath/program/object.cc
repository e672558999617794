// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/program/object.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pmd/base/file_descriptor.h"

namespace verbline::program {
namespace {

constexpr std::uint8_t local_call = 1;  ///< of src_reg: a call of a function of the same object

struct EndElf {
    void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfFile = std::unique_ptr<Elf, EndElf>;

std::unexpected<Error> refused(const std::string& file, std::string_view reason) {
    return failure(EINVAL, fmt::format("{}: {}", file, reason));
}

/// Opened without waiting, as it might be a pipe.
Result<std::vector<char>> read_regular_file(const std::string& file) {
    FileDescriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status{};
    if (!fd || fstat(fd.get(), &status) != 0) return failure(errno, fmt::format("{}: {}", file, std::strerror(errno)));
    if (!S_ISREG(status.st_mode)) return refused(file, "no regular file");
    if (static_cast<std::size_t>(status.st_size) > max_object_bytes)
        return refused(file, fmt::format("larger than the {} bytes of any program", max_object_bytes));
    std::vector<char> bytes(static_cast<std::size_t>(status.st_size));
    std::size_t size = 0;
    while (size < bytes.size()) {
        const auto n = ::read(fd.get(), bytes.data() + size, bytes.size() - size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return failure(errno, fmt::format("{}: {}", file, std::strerror(errno)));
        if (n == 0) break;
        size += static_cast<std::size_t>(n);
    }
    bytes.resize(size);
    return bytes;
}

/// A name, which errors may print; none, if it has other characters.
std::optional<std::string> printable(const char* name) {
    if (name == nullptr) return std::nullopt;
    std::string text(name);
    if (std::ranges::any_of(text, [](unsigned char c) { return std::isprint(c) == 0; })) return std::nullopt;
    return text;
}

struct Section {
    Elf_Scn* place;
    GElf_Shdr header;
    std::string name;
};

std::optional<std::vector<Section>> sections_of(Elf* elf) {
    std::size_t names = 0;
    if (elf_getshdrstrndx(elf, &names) != 0) return std::nullopt;
    std::vector<Section> sections;
    for (auto* place = elf_nextscn(elf, nullptr); place != nullptr; place = elf_nextscn(elf, place)) {
        GElf_Shdr header;
        if (gelf_getshdr(place, &header) == nullptr) return std::nullopt;
        auto name = printable(elf_strptr(elf, names, header.sh_name));
        if (!name) return std::nullopt;
        sections.push_back({place, header, std::move(*name)});
    }
    return sections;
}

bool has_code(const Section& section) {
    return section.header.sh_type == SHT_PROGBITS && (section.header.sh_flags & SHF_EXECINSTR) != 0 &&
           section.header.sh_size > 0;
}

/// The section whose name is given, or the only one; else what there is to choose from.
std::expected<const Section*, std::string> choose(const std::vector<Section>& sections, std::string_view wanted) {
    std::vector<const Section*> found;
    std::vector<std::string_view> names;
    for (const auto& section : sections) {
        if (!has_code(section)) continue;
        names.push_back(section.name);
        if (wanted.empty() || section.name == wanted) found.push_back(&section);
    }
    if (found.size() == 1) return found.front();
    if (names.empty()) return std::unexpected("it has no program");
    if (wanted.empty())
        return std::unexpected(fmt::format("it has several programs: choose a section of {}", fmt::join(names, ", ")));
    if (found.empty())
        return std::unexpected(fmt::format("it has no program {}, but {}", wanted, fmt::join(names, ", ")));
    return std::unexpected(fmt::format("it has several sections {}", wanted));
}

std::span<const char> data_of(const Section& section) {
    const auto* const data = elf_getdata(section.place, nullptr);
    if (data == nullptr || data->d_buf == nullptr) return {};
    return {static_cast<const char*>(data->d_buf), data->d_size};
}

/// Why an instruction may not refer to the symbol; empty: it may.
std::string wrong_reference(const ebpf_insn& instruction, const GElf_Sym& symbol, std::string_view name) {
    const bool calls = instruction.code == (BPF_JMP | EBPF_CALL);
    if (!calls && instruction.code != (BPF_LD | BPF_IMM | EBPF_DW)) return "it has a relocation that is unknown";
    if (symbol.st_shndx != SHN_UNDEF || name.empty()) {
        const auto named = name.empty() ? std::string() : fmt::format(" ({})", name);
        if (calls)
            return fmt::format(
                "it calls a function of its own{}: declare it static inline, __attribute__((always_inline))", named);
        return fmt::format(
            "it has global data of its own{}: a program has verbline_state, verbline_counters and local "
            "variables",
            named);
    }
    if (!calls && instruction.imm != 0) return fmt::format("it uses an address inside of {}", name);
    return {};
}

/// Adds what the relocations of `code` name. An error is a reason.
std::expected<void, std::string> read_references(Elf* elf, const std::vector<Section>& sections, const Section& code,
                                                 Object& object) {
    for (const auto& section : sections) {
        if (section.header.sh_type != SHT_REL || section.header.sh_info != elf_ndxscn(code.place)) continue;
        auto* const relocations = elf_getdata(section.place, nullptr);
        auto* const table = elf_getscn(elf, section.header.sh_link);
        GElf_Shdr table_header;
        if (relocations == nullptr || table == nullptr || gelf_getshdr(table, &table_header) == nullptr ||
            table_header.sh_type != SHT_SYMTAB)
            return std::unexpected("its relocations are damaged");
        auto* const symbols = elf_getdata(table, nullptr);
        GElf_Rel relocation;
        for (int i = 0; gelf_getrel(relocations, i, &relocation) != nullptr; ++i) {
            GElf_Sym symbol;
            if (symbols == nullptr ||
                gelf_getsym(symbols, static_cast<int>(GELF_R_SYM(relocation.r_info)), &symbol) == nullptr ||
                relocation.r_offset % sizeof(ebpf_insn) != 0 ||
                relocation.r_offset / sizeof(ebpf_insn) >= object.instructions.size())
                return std::unexpected("its relocations are damaged");
            auto name = printable(elf_strptr(elf, table_header.sh_link, symbol.st_name));
            if (!name) return std::unexpected("its symbols are damaged");
            const auto at = static_cast<std::size_t>(relocation.r_offset / sizeof(ebpf_insn));
            if (auto wrong = wrong_reference(object.instructions[at], symbol, *name); !wrong.empty())
                return std::unexpected(std::move(wrong));
            object.references.push_back({at, std::move(*name)});
        }
    }
    return {};
}

/// Calls and loads that no relocation names would be taken for references that they are not.
std::expected<void, std::string> check_unnamed(const Object& object) {
    std::vector<bool> named(object.instructions.size());
    for (const auto& reference : object.references) named[reference.instruction] = true;
    for (std::size_t i = 0; i < object.instructions.size(); ++i) {
        const auto& instruction = object.instructions[i];
        if (named[i] || instruction.code != (BPF_JMP | EBPF_CALL)) continue;
        return std::unexpected(instruction.src_reg == local_call
                                   ? "it calls a function of its own: declare it static inline, "
                                     "__attribute__((always_inline))"
                                   : fmt::format("it calls the kernel's function {}, which is not here: "
                                                 "verbline_program.h has those that are",
                                                 instruction.imm));
    }
    return {};
}

std::expected<void, std::string> check_kind(Elf* elf) {
    GElf_Ehdr header;
    if (elf_kind(elf) != ELF_K_ELF || gelf_getehdr(elf, &header) == nullptr) return std::unexpected("no ELF file");
    const bool eligible = header.e_machine == EM_BPF && header.e_type == ET_REL &&
                          header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB;
    if (!eligible) return std::unexpected("no eBPF object: compile it by clang -O2 -target bpf -mcpu=v2 -c");
    return {};
}

std::expected<Object, std::string> read_elf(Elf* elf, std::string_view wanted) {
    if (auto kind = check_kind(elf); !kind) return std::unexpected(kind.error());
    const auto sections = sections_of(elf);
    if (!sections) return std::unexpected("its sections are damaged");
    const auto code = choose(*sections, wanted);
    if (!code) return std::unexpected(code.error());
    const auto bytes = data_of(**code);
    if (bytes.empty() || bytes.size() % sizeof(ebpf_insn) != 0) return std::unexpected("its code is damaged");
    if (bytes.size() / sizeof(ebpf_insn) > max_instructions)
        return std::unexpected(
            fmt::format("{} instructions, and {} are the most", bytes.size() / sizeof(ebpf_insn), max_instructions));
    Object object{.section = (*code)->name, .instructions = {}, .references = {}};
    object.instructions.resize(bytes.size() / sizeof(ebpf_insn));
    std::memcpy(object.instructions.data(), bytes.data(), bytes.size());
    if (auto read = read_references(elf, *sections, **code, object); !read) return std::unexpected(read.error());
    if (auto good = check_unnamed(object); !good) return std::unexpected(good.error());
    return object;
}

}  // namespace

std::expected<Object, std::string> parse_object(std::span<char> bytes, std::string_view section) {
    if (elf_version(EV_CURRENT) == EV_NONE) return std::unexpected("libelf is older than this program");
    const ElfFile elf(elf_memory(bytes.data(), bytes.size()));
    if (!elf) return std::unexpected("no ELF file");
    return read_elf(elf.get(), section);
}

Result<Object> read_object(const std::string& file, std::string_view section) {
    auto bytes = read_regular_file(file);
    if (!bytes) return std::unexpected(bytes.error());
    auto object = parse_object(*bytes, section);
    if (!object) return refused(file, object.error());
    return std::move(*object);
}

}  // namespace verbline::program
