// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// DPDK's route tables behind one set of functions for both families: rte_fib and rte_fib6. Included by fib.cc alone.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_memory.h>

#include "datapath/forward/fib.h"
#include "datapath/wire/types.h"

namespace verbline::forward {

constexpr std::size_t fib_chunk = 64;  ///< of a bulk lookup
/// More groups of longer prefixes cannot be told apart by entries of 2 bytes, one bit of which is taken.
constexpr std::uint32_t most_long_of_2_bytes = 32'704;

/// Of a table: of a tree, if there are trees.
template <class Config>
int fib_capacity(const Config& config) {
    return static_cast<int>(config.tree_routes > 0 ? config.tree_routes : config.max_routes);
}

/// Functions of one family. DPDK's "dummy" type is its tree. Errors are negative errno values.
template <class Address>
struct FibEngine;

template <>
struct FibEngine<wire::Ipv4Address> {
    static constexpr unsigned max_length = 32;
    static constexpr std::string_view family = "IPv4";

    static std::uint32_t bits(wire::Ipv4Address address) { return static_cast<std::uint32_t>(address); }
    static rte_fib* create(const std::string& name, const Fib::Config& config) {
        rte_fib_conf tables{};
        tables.type = config.tree_routes > 0 ? RTE_FIB_DUMMY : RTE_FIB_DIR24_8;
        tables.default_nh = NextHopTable<wire::Ipv4Address>::unreachable;
        tables.max_routes = fib_capacity(config);
        tables.dir24_8.nh_sz = config.max_long > most_long_of_2_bytes ? RTE_FIB_DIR24_8_4B : RTE_FIB_DIR24_8_2B;
        tables.dir24_8.num_tbl8 = config.max_long;
        return rte_fib_create(name.c_str(), SOCKET_ID_ANY, &tables);
    }
    static void free(rte_fib* table) { rte_fib_free(table); }
    static int add(rte_fib* table, const Prefix& prefix, std::uint64_t next_hop) {
        return rte_fib_add(table, bits(prefix.address), prefix.length, next_hop);
    }
    static int remove(rte_fib* table, const Prefix& prefix) {
        return rte_fib_delete(table, bits(prefix.address), prefix.length);
    }
    static void lookup(rte_fib* table, std::span<const wire::Ipv4Address> to, std::uint64_t* next_hops) {
        std::array<std::uint32_t, fib_chunk> addresses;
        std::ranges::transform(to, addresses.begin(), bits);
        rte_fib_lookup_bulk(table, addresses.data(), next_hops, static_cast<int>(to.size()));
    }
};

template <>
struct FibEngine<wire::Ipv6Address> {
    static constexpr unsigned max_length = 128;
    static constexpr std::string_view family = "IPv6";
    using Bytes = std::uint8_t[RTE_FIB6_IPV6_ADDR_SIZE];

    static rte_fib6* create(const std::string& name, const Ipv6Fib::Config& config) {
        rte_fib6_conf tables{};
        tables.type = config.tree_routes > 0 ? RTE_FIB6_DUMMY : RTE_FIB6_TRIE;
        tables.default_nh = NextHopTable<wire::Ipv6Address>::unreachable;
        tables.max_routes = fib_capacity(config);
        tables.trie.nh_sz = config.max_long > most_long_of_2_bytes ? RTE_FIB6_TRIE_4B : RTE_FIB6_TRIE_2B;
        tables.trie.num_tbl8 = config.max_long;
        return rte_fib6_create(name.c_str(), SOCKET_ID_ANY, &tables);
    }
    static void free(rte_fib6* table) { rte_fib6_free(table); }
    static int add(rte_fib6* table, const Ipv6Prefix& prefix, std::uint64_t next_hop) {
        Bytes address;
        std::memcpy(address, prefix.address.bytes.data(), sizeof address);
        return rte_fib6_add(table, address, prefix.length, next_hop);
    }
    static int remove(rte_fib6* table, const Ipv6Prefix& prefix) {
        Bytes address;
        std::memcpy(address, prefix.address.bytes.data(), sizeof address);
        return rte_fib6_delete(table, address, prefix.length);
    }
    static void lookup(rte_fib6* table, std::span<const wire::Ipv6Address> to, std::uint64_t* next_hops) {
        Bytes addresses[fib_chunk];
        for (std::size_t i = 0; i < to.size(); ++i) std::memcpy(addresses[i], to[i].bytes.data(), sizeof addresses[i]);
        rte_fib6_lookup_bulk(table, addresses, next_hops, static_cast<int>(to.size()));
    }
};

}  // namespace verbline::forward
