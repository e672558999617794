// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/program/program.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include <rte_errno.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace verbline::program {
namespace {

/// Puts numbers of functions and addresses of variables in the place of their names.
Result<void> put_symbols(std::vector<ebpf_insn>& instructions, const Object& object,
                         std::span<const rte_bpf_xsym> symbols) {
    for (const auto& [at, name] : object.references) {
        auto& instruction = instructions[at];
        const bool calls = instruction.code == (BPF_JMP | EBPF_CALL);
        const auto symbol = std::ranges::find_if(symbols, [&](const rte_bpf_xsym& each) {
            return each.name == name && (each.type == RTE_BPF_XTYPE_FUNC) == calls;
        });
        if (symbol == symbols.end()) {
            constexpr std::string_view port = "verbline_port_";
            if (name.starts_with(port))
                return failure(ENOENT, fmt::format("it names a port {}, which this instance does not have",
                                                   std::string_view(name).substr(port.size())));
            return failure(ENOENT, fmt::format("it uses {}, which is not here: verbline_program.h has what is", name));
        }
        if (calls) {
            instruction.src_reg = EBPF_REG_0;
            instruction.imm = static_cast<std::int32_t>(symbol - symbols.begin());
        } else if (at + 1 < instructions.size()) {
            const auto address = reinterpret_cast<std::uintptr_t>(symbol->var.val);
            instruction.imm = static_cast<std::int32_t>(address);
            instructions[at + 1].imm = static_cast<std::int32_t>(address >> 32);
        }
    }
    return {};
}

/// A line of the verifier's without the name of its function and what ends it.
std::string_view reason_in(std::string_view line) {
    const auto function = line.find(": ");
    if (function != std::string_view::npos && line.substr(0, function).find(' ') == std::string_view::npos)
        line.remove_prefix(function + 2);
    while (line.ends_with(';') || line.ends_with(' ')) line.remove_suffix(1);
    return line;
}

/// What the author can do about a reason of the verifier's.
std::string_view advice(std::string_view reason) {
    const auto says = [&](std::string_view text) { return reason.find(text) != std::string_view::npos; };
    if (says("loop")) return "unroll its loops (#pragma unroll)";
    if (says("memory boundary")) return "bound its array indices, as in data[i & 127]";
    if (says("opcode")) return "compile it by clang -O2 -target bpf -mcpu=v2";
    if (says("stack")) return "use less than 512 bytes of local variables";
    return "verbline_program.h says what a program may do";
}

}  // namespace

Program::Program(const Object& object, std::span<const std::string> ports)
    : section_(object.section), instructions_(object.instructions.size()), ports_(port_symbols(ports)) {}

Result<std::unique_ptr<Program>> Program::load(const Object& object, std::span<ShardMemory> memory,
                                               std::span<const std::string> ports, VerifierLog& log) {
    std::unique_ptr<Program> program(new Program(object, ports));
    for (auto& each : memory) {
        auto shard = program->load_shard(object, each, VERBLINE_DATA_SIZE, log);
        if (!shard) return std::unexpected(shard.error());
        program->shards_.push_back(std::move(*shard));
    }
    if (!memory.empty()) program->reach_ = program->find_reach(object, memory.front(), log);
    return program;
}

std::size_t Program::find_reach(const Object& object, ShardMemory& memory, VerifierLog& log) {
    std::size_t reach = 0;
    while (reach < VERBLINE_DATA_SIZE && !load_shard(object, memory, reach, log)) reach += reach_step;
    return reach;
}

Result<Program::Shard> Program::load_shard(const Object& object, ShardMemory& memory, std::size_t reach,
                                           VerifierLog& log) {
    const auto known = symbols(memory, ports_);
    auto instructions = object.instructions;
    if (auto bound = put_symbols(instructions, object, known); !bound) return std::unexpected(bound.error());
    rte_bpf_prm parameters{};
    parameters.ins = instructions.data();
    parameters.nb_ins = static_cast<std::uint32_t>(instructions.size());
    parameters.xsym = known.data();
    parameters.nb_xsym = static_cast<std::uint32_t>(known.size());
    parameters.prog_arg.type = RTE_BPF_ARG_PTR;
    parameters.prog_arg.size = offsetof(verbline_packet, data) + reach;
    Shard shard;
    {
        const VerifierLog::Listen listen(log);
        shard.loaded.reset(rte_bpf_load(&parameters));
    }
    if (!shard.loaded) {
        const auto line = log.last_line();
        const auto reason = line.empty() ? std::string_view(rte_strerror(rte_errno)) : reason_in(line);
        return failure(EINVAL, fmt::format("the verifier refuses it: {}; {}", reason, advice(reason)));
    }
    rte_bpf_jit compiled{};
    if (rte_bpf_get_jit(shard.loaded.get(), &compiled) == 0) shard.function = compiled.func;
    return shard;
}

}  // namespace verbline::program
