// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/program/functions.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include <rte_byteorder.h>

namespace verbline::program {
namespace {

thread_local const PrefixTables* tables_of_thread = nullptr;  // of LookUpIn

constexpr std::size_t ipv6_size = 16;

std::uint64_t prefix_ipv4(std::uint64_t address, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t) {
    return tables_of_thread->ipv4.lookup(rte_be_to_cpu_32(static_cast<std::uint32_t>(address)));
}

/// The verifier has seen to it that there are 16 bytes.
std::uint64_t prefix_ipv6(std::uint64_t address, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t) {
    wire::Ipv6Address ipv6;
    std::memcpy(ipv6.bytes.data(), reinterpret_cast<const void*>(address), ipv6_size);
    return tables_of_thread->ipv6.lookup(ipv6);
}

using Function = std::uint64_t (*)(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t);

/// Of one argument, which is a number, or points to `pointed` bytes.
rte_bpf_xsym function(const char* name, Function value, std::size_t pointed) {
    rte_bpf_xsym symbol{};
    symbol.name = name;
    symbol.type = RTE_BPF_XTYPE_FUNC;
    symbol.func.val = value;
    symbol.func.nb_args = 1;
    symbol.func.args[0].type = pointed > 0 ? RTE_BPF_ARG_PTR : RTE_BPF_ARG_RAW;
    symbol.func.args[0].size = pointed > 0 ? pointed : sizeof(std::uint64_t);
    symbol.func.ret.type = RTE_BPF_ARG_RAW;
    symbol.func.ret.size = sizeof(std::uint64_t);
    return symbol;
}

rte_bpf_xsym variable(const char* name, void* value, std::size_t size) {
    rte_bpf_xsym symbol{};
    symbol.name = name;
    symbol.type = RTE_BPF_XTYPE_VAR;
    symbol.var.val = value;
    symbol.var.desc.type = RTE_BPF_ARG_PTR;
    symbol.var.desc.size = size;
    return symbol;
}

}  // namespace

std::vector<PortSymbol> port_symbols(std::span<const std::string> names) {
    std::vector<PortSymbol> symbols;
    for (const auto& name : names) {
        auto& symbol = symbols.emplace_back("verbline_port_" + name, symbols.size());
        std::ranges::replace_if(symbol.name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    }
    return symbols;
}

std::vector<rte_bpf_xsym> symbols(ShardMemory& memory, std::span<PortSymbol> ports) {
    std::vector<rte_bpf_xsym> all{variable("verbline_counters", memory.counters.data(), sizeof memory.counters),
                                  variable("verbline_state", memory.state.data(), sizeof memory.state),
                                  function("verbline_prefix_ipv4", prefix_ipv4, 0),
                                  function("verbline_prefix_ipv6", prefix_ipv6, ipv6_size)};
    for (auto& port : ports) all.push_back(variable(port.name.c_str(), &port.number, sizeof port.number));
    return all;
}

LookUpIn::LookUpIn(const PrefixTables& tables) noexcept {
    tables_of_thread = &tables;
}

LookUpIn::~LookUpIn() {
    tables_of_thread = nullptr;
}

}  // namespace verbline::program
