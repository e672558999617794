// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/fib.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <rte_errno.h>
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_memory.h>
#include <rte_rcu_qsbr.h>

#include <fmt/format.h>

#include "datapath/wire/text.h"

namespace verbline::forward {
namespace {

constexpr std::size_t chunk = 64;  ///< of a bulk lookup

/// Of a table: of a tree, if there are trees.
template <class Config>
int capacity(const Config& config) {
    return static_cast<int>(config.tree_routes > 0 ? config.tree_routes : config.max_routes);
}

/// DPDK's functions for one family. Its "dummy" type is its tree.
template <class Address>
struct Engine;

template <>
struct Engine<wire::Ipv4Address> {
    static constexpr unsigned max_length = 32;
    static constexpr std::string_view family = "IPv4";

    static std::uint32_t bits(wire::Ipv4Address address) { return static_cast<std::uint32_t>(address); }
    static rte_fib* create(const std::string& name, const Fib::Config& config) {
        rte_fib_conf tables{};
        tables.type = config.tree_routes > 0 ? RTE_FIB_DUMMY : RTE_FIB_DIR24_8;
        tables.default_nh = NextHopTable<wire::Ipv4Address>::unreachable;
        tables.max_routes = capacity(config);
        tables.dir24_8.nh_sz = RTE_FIB_DIR24_8_2B;
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
        std::array<std::uint32_t, chunk> addresses;
        std::ranges::transform(to, addresses.begin(), bits);
        rte_fib_lookup_bulk(table, addresses.data(), next_hops, static_cast<int>(to.size()));
    }
};

template <>
struct Engine<wire::Ipv6Address> {
    static constexpr unsigned max_length = 128;
    static constexpr std::string_view family = "IPv6";
    using Bytes = std::uint8_t[RTE_FIB6_IPV6_ADDR_SIZE];

    static rte_fib6* create(const std::string& name, const Ipv6Fib::Config& config) {
        rte_fib6_conf tables{};
        tables.type = config.tree_routes > 0 ? RTE_FIB6_DUMMY : RTE_FIB6_TRIE;
        tables.default_nh = NextHopTable<wire::Ipv6Address>::unreachable;
        tables.max_routes = capacity(config);
        tables.trie.nh_sz = RTE_FIB6_TRIE_2B;
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
        Bytes addresses[chunk];
        for (std::size_t i = 0; i < to.size(); ++i) std::memcpy(addresses[i], to[i].bytes.data(), sizeof addresses[i]);
        rte_fib6_lookup_bulk(table, addresses, next_hops, static_cast<int>(to.size()));
    }
};

template <class Prefix>
Result<void> check(const Prefix& prefix) {
    using Family = Engine<decltype(prefix.address)>;
    if (prefix.length > Family::max_length) {
        return failure(EINVAL, fmt::format("{}: an {} prefix has at most {} bits", to_string(prefix), Family::family,
                                           Family::max_length));
    }
    if (prefix.network() != prefix.address) {
        return failure(EINVAL, to_string(prefix) + ": bits behind the prefix are set; give the network's address");
    }
    return {};
}

template <class Table, class Prefix, class Index>
int apply(Table* table, const Prefix& prefix, std::optional<Index> next_hop) {
    using Family = Engine<decltype(prefix.address)>;
    return next_hop ? Family::add(table, prefix, *next_hop) : Family::remove(table, prefix);
}

}  // namespace

template <class Address>
void BasicFib<Address>::Free::operator()(typename Types::Table* table) const {
    Engine<Address>::free(table);
}

template <class Address>
Result<std::unique_ptr<BasicFib<Address>>> BasicFib<Address>::create(const Config& config, rte_rcu_qsbr& readers) {
    auto first = config;
    first.tree_routes = std::min(config.tree_routes, config.max_routes);
    auto tables = make_tables(first);
    if (!tables) return std::unexpected(tables.error());
    return std::unique_ptr<BasicFib>(new BasicFib(first, readers, std::move(*tables)));
}

template <class Address>
auto BasicFib<Address>::make_tables(const Config& config) -> Result<Tables> {
    const bool trees = config.tree_routes > 0;
    const auto create_table = [&](const char* suffix) {
        return Table(Engine<Address>::create(config.name + suffix, config));
    };
    Tables tables{create_table(trees ? ".s" : ".a"), create_table(trees ? ".t" : ".b")};
    if (!tables.published || !tables.idle) {
        return failure(rte_errno,
                       fmt::format("cannot create the {} route tables of {}: {}; they take {} MB of EAL memory or more",
                                   Engine<Address>::family, config.name, rte_strerror(rte_errno), trees ? 1 : 64));
    }
    return tables;
}

template <class Address>
BasicFib<Address>::BasicFib(const Config& config, rte_rcu_qsbr& readers, Tables tables)
    : config_(config),
      readers_(readers),
      published_owner_(std::move(tables.published)),
      idle_(std::move(tables.idle)),
      published_(published_owner_.get()),
      next_hops_(config.max_next_hops),
      groups_(next_hops_, config.max_next_hops, config.max_groups) {}

template <class Address>
BasicFib<Address>::~BasicFib() = default;

template <class Address>
Result<void> BasicFib<Address>::replace(const Prefix& prefix, const Group& next_hops) {
    if (auto valid = check(prefix); !valid) return valid;
    return change(prefix, next_hops);
}

template <class Address>
Result<void> BasicFib<Address>::remove(const Prefix& prefix) {
    const auto waits = waiting_.find(prefix);
    const bool known = waits == waiting_.end() ? routes_.contains(prefix) : waits->second.has_value();
    if (!known) return failure(ENOENT, to_string(prefix) + ": there is no route to remove");
    return change(prefix, std::nullopt);
}

template <class Address>
Result<void> BasicFib<Address>::change(const Prefix& prefix, const std::optional<Group>& next_hops) {
    advance();
    // What still waits was asked for before, so this waits behind it, even if the shards have gone on since.
    if (!waiting_.empty() || !idle_is_unread()) {
        waiting_.insert_or_assign(prefix, next_hops);
        return {};
    }
    if (auto ready = catch_up(); !ready) return ready;
    if (auto made = make(prefix, next_hops); !made) return made;
    publish();
    return {};
}

template <class Address>
void BasicFib<Address>::advance() {
    if (!idle_is_unread()) return;
    if (const auto ready = catch_up(); ready) {
        make_waiting();
    } else if (refused_) {
        for (std::size_t i = 0; i < waiting_.size(); ++i) refused_(ready.error());
    }
    waiting_.clear();
}

/// Removals first, as they make room; readers see all at once.
template <class Address>
void BasicFib<Address>::make_waiting() {
    for (const bool adds : {false, true}) {
        for (const auto& [prefix, next_hops] : waiting_) {
            if (next_hops.has_value() != adds) continue;
            if (const auto made = make(prefix, next_hops); !made && refused_) refused_(made.error());
        }
    }
    if (!behind_.empty() || grown_) publish();
}

/// Whether no shard can hold the table that was published before `grace_`.
template <class Address>
bool BasicFib<Address>::idle_is_unread() const {
    return rte_rcu_qsbr_check(&readers_, grace_, false) == 1;
}

/// Makes the idle table equal to the published one.
template <class Address>
Result<void> BasicFib<Address>::catch_up() {
    outgrown_.reset();
    for (auto change = behind_.begin(); change != behind_.end(); ++change) {
        // It succeeded on the other table, which was equal to this one, so it should here.
        if (const int error = apply(idle_.get(), change->prefix, change->next_hop); error != 0) {
            const auto prefix = change->prefix;
            behind_.erase(behind_.begin(), change);
            return failure(-error, to_string(prefix) + ": the second route table refused what the first took");
        }
    }
    behind_.clear();
    groups_.recycle();
    next_hops_.recycle();
    return {};
}

/// Makes a change in the idle table.
template <class Address>
Result<void> BasicFib<Address>::make(const Prefix& prefix, const std::optional<Group>& next_hops) {
    const auto route = routes_.find(prefix);
    if (!next_hops) {
        if (route == routes_.end()) return {};  // it waited to be added, and now need not be
        if (auto done = apply_to_idle({prefix, std::nullopt}); !done) return done;
        release(route->second);
        routes_.erase(route);
        return {};
    }
    if (route == routes_.end() && config_.tree_routes > 0 && routes_.size() >= config_.tree_routes) {
        if (auto grown = grow(); !grown) return grown;
    }
    const auto index = acquire(*next_hops, route != routes_.end() ? std::optional(route->second) : std::nullopt);
    if (!index) return failure(ENOSPC, to_string(prefix) + ": too many different next hops; the route is not used");
    if (auto done = apply_to_idle({prefix, index}); !done) {
        release(*index);
        return done;
    }
    if (route != routes_.end()) {
        release(std::exchange(route->second, *index));
    } else {
        routes_.emplace(prefix, *index);
    }
    return {};
}

/// `before`: what the route led to.
template <class Address>
auto BasicFib<Address>::acquire(const Group& next_hops, std::optional<Index> before) -> std::optional<Index> {
    const auto* alone = next_hops.alone();
    return alone != nullptr ? next_hops_.acquire(*alone) : groups_.acquire(next_hops, before);
}

template <class Address>
void BasicFib<Address>::release(Index number) {
    if (groups_.holds(number)) return groups_.release(number);
    next_hops_.release(number);
}

/// Replaces the idle tree by a table; another one, equal to it, takes the other tree's place with the next publication.
template <class Address>
Result<void> BasicFib<Address>::grow() {
    auto config = config_;
    config.tree_routes = 0;
    auto tables = make_tables(config);
    if (!tables) return std::unexpected(tables.error());
    for (auto* table : {tables->published.get(), tables->idle.get()}) {
        for (const auto& [prefix, index] : routes_) {
            if (const int error = apply(table, prefix, std::optional(index)); error != 0) {
                return failure(-error, to_string(prefix) + ": the route tables refused what the tree took");
            }
        }
    }
    idle_ = std::move(tables->published);
    grown_ = std::move(tables->idle);
    behind_.clear();
    config_ = config;
    return {};
}

template <class Address>
Result<void> BasicFib<Address>::apply_to_idle(const Change& change) {
    if (const int error = apply(idle_.get(), change.prefix, change.next_hop); error != 0) {
        return failure(-error, fmt::format("{}: the route table is full ({}); the route is not used",
                                           to_string(change.prefix), rte_strerror(-error)));
    }
    behind_.push_back(change);
    return {};
}

template <class Address>
void BasicFib<Address>::publish() {
    std::swap(published_owner_, idle_);
    if (grown_) outgrown_ = std::exchange(idle_, std::move(grown_));
    published_.store(published_owner_.get(), std::memory_order_release);
    grace_ = rte_rcu_qsbr_start(&readers_);
}

template <class Address>
std::vector<BasicRoute<Address>> BasicFib<Address>::routes() const {
    std::vector<Route> out;
    out.reserve(routes_.size());
    for (const auto& [prefix, index] : routes_) {
        out.push_back({prefix, groups_.holds(index) ? groups_.at(index) : Group(next_hops_.at(index))});
    }
    return out;
}

template <class Address>
void BasicFib<Address>::lookup(std::span<const Address> destinations, std::span<Index> next_hops) const noexcept {
    std::array<std::uint64_t, chunk> indices;
    auto* const table = published_.load(std::memory_order_acquire);
    for (std::size_t at = 0; at < destinations.size(); at += chunk) {
        const auto part = destinations.subspan(at, std::min(chunk, destinations.size() - at));
        Engine<Address>::lookup(table, part, indices.data());
        for (std::size_t i = 0; i < part.size(); ++i) next_hops[at + i] = static_cast<Index>(indices[i]);
    }
}

template class BasicFib<wire::Ipv4Address>;
template class BasicFib<wire::Ipv6Address>;

}  // namespace verbline::forward
