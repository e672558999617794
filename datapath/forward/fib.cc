// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/fib.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <rte_errno.h>
#include <rte_rcu_qsbr.h>

#include <fmt/format.h>

#include "datapath/forward/fib_engine.h"
#include "datapath/wire/text.h"

namespace verbline::forward {
namespace {

constexpr std::size_t node_size = 208;  ///< of a route's, in DPDK's mempool and its ring

template <class Prefix>
Result<void> check(const Prefix& prefix) {
    using Family = FibEngine<decltype(prefix.address)>;
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
    using Family = FibEngine<decltype(prefix.address)>;
    return next_hop ? Family::add(table, prefix, *next_hop) : Family::remove(table, prefix);
}

}  // namespace

template <class Address>
void BasicFib<Address>::Free::operator()(typename Types::Table* table) const {
    FibEngine<Address>::free(table);
}

template <class Address>
std::size_t BasicFib<Address>::memory(const Config& config) {
    constexpr std::size_t whole = 1 << 24, group = 256;
    const std::size_t entry = config.max_long > most_long_of_2_bytes ? 4 : 2;
    const auto nodes = 2 * std::size_t{config.max_routes};  // of a binary tree with so many leaves
    return 2 * (entry * (whole + group * (config.max_long + std::size_t{1})) + nodes * node_size);
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
        return Table(FibEngine<Address>::create(config.name + suffix, config));
    };
    Tables tables{create_table(trees ? ".s" : ".a"), create_table(trees ? ".t" : ".b")};
    if (!tables.published || !tables.idle) {
        return failure(rte_errno,
                       fmt::format("cannot create the {} route tables of {}: {}; they take {} MB of EAL memory or more",
                                   FibEngine<Address>::family, config.name, rte_strerror(rte_errno),
                                   trees ? 1 : memory(config) >> 20));
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
    const bool known =
        waits == waiting_.end() ? routes_.contains(prefix) || refused_.contains(prefix) : waits->second.has_value();
    if (!known) return failure(ENOENT, to_string(prefix) + ": there is no route to remove");
    return change(prefix, std::nullopt);
}

template <class Address>
Result<void> BasicFib<Address>::change(const Prefix& prefix, const std::optional<Group>& next_hops) {
    advance();
    // Queued changes are older, so this one is queued behind them, even if the grace period is over.
    if (!waiting_.empty() || !idle_is_unread()) {
        waiting_.insert_or_assign(prefix, next_hops);
        return {};
    }
    if (auto ready = catch_up(); !ready) return ready;
    auto made = make(prefix, next_hops);
    install_refused();
    if (!behind_.empty() || grown_) publish();
    return made;
}

template <class Address>
void BasicFib<Address>::advance() {
    if (!idle_is_unread()) return;
    if (const auto ready = catch_up(); ready) {
        make_waiting();
    } else if (on_refused_) {
        for (std::size_t i = 0; i < waiting_.size(); ++i) on_refused_(ready.error());
    }
    waiting_.clear();
}

/// Removals first, as they make room; readers see all at once.
template <class Address>
void BasicFib<Address>::make_waiting() {
    for (const bool adds : {false, true}) {
        for (const auto& [prefix, next_hops] : waiting_) {
            if (next_hops.has_value() != adds) continue;
            if (const auto made = make(prefix, next_hops); !made && on_refused_) on_refused_(made.error());
        }
    }
    install_refused();
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
    if (std::exchange(room_later_, false)) room_ = true;
    return {};
}

/// Makes a change in the idle table, or keeps the route until there is room. What the prefix had goes in any case: it
/// is wanted no more, and its next hop's number may be the room that the change needs.
template <class Address>
Result<void> BasicFib<Address>::make(const Prefix& prefix, const std::optional<Group>& next_hops) {
    refused_.remove(prefix);
    auto made = next_hops ? install(prefix, *next_hops) : uninstall(prefix);
    if (made) return {};
    if (auto* error = std::get_if<Error>(&made.error())) return std::unexpected(std::move(*error));
    const auto scarce = std::get<Scarce>(made.error());
    count(scarce);
    (void)uninstall(prefix);  // needs no room
    refused_.add(prefix, *next_hops);
    return std::unexpected(no_room(prefix, scarce));
}

template <class Address>
void BasicFib<Address>::count(Scarce scarce) {
    switch (scarce) {
        case Scarce::routes: return counters_.routes_refused_full.add();
        case Scarce::next_hops: return counters_.routes_refused_next_hops.add();
        case Scarce::long_prefixes: return counters_.routes_refused_long.add();
    }
}

template <class Address>
Error BasicFib<Address>::no_room(const Prefix& prefix, Scarce scarce) const {
    std::string why;
    switch (scarce) {
        case Scarce::routes: why = fmt::format("the route table is full, it has {} routes", config_.max_routes); break;
        case Scarce::next_hops: why = "too many different next hops"; break;
        case Scarce::long_prefixes: why = "the route table has no room for its length"; break;
    }
    return {ENOSPC, fmt::format("{}: {}; the route is not used until others make room", to_string(prefix), why)};
}

/// Installs refused routes if changes have made room, as many as fit.
template <class Address>
void BasicFib<Address>::install_refused() {
    if (!std::exchange(room_, false)) return;
    const auto installs = [this](const Prefix& prefix, const Group& next_hops) {
        return install(prefix, next_hops).has_value();
    };
    while (refused_.install_one(installs)) counters_.routes_installed_later.add();
}

template <class Address>
auto BasicFib<Address>::uninstall(const Prefix& prefix) -> Made {
    const auto route = routes_.find(prefix);
    if (route == routes_.end()) return {};  // it waited to be added, or for room, and now need not be
    if (auto done = apply_to_idle({prefix, std::nullopt}); !done) return done;
    room_later_ |= release(route->second);
    routes_.erase(route);
    room_ = true;
    return {};
}

template <class Address>
auto BasicFib<Address>::install(const Prefix& prefix, const Group& next_hops) -> Made {
    const auto route = routes_.find(prefix);
    if (route == routes_.end()) {
        if (auto room = make_room(); !room) return room;
    }
    const auto index = acquire(next_hops, route != routes_.end() ? std::optional(route->second) : std::nullopt);
    if (!index) return std::unexpected(Scarce::next_hops);
    if (auto done = apply_to_idle({prefix, index}); !done) {
        release(*index);
        return done;
    }
    if (route != routes_.end()) {
        room_later_ |= release(std::exchange(route->second, *index));
    } else {
        routes_.emplace(prefix, *index);
    }
    return {};
}

/// For another route.
template <class Address>
auto BasicFib<Address>::make_room() -> Made {
    if (routes_.size() >= config_.max_routes) return std::unexpected(Scarce::routes);
    if (config_.tree_routes == 0 || routes_.size() < config_.tree_routes) return {};
    if (auto grown = grow(); !grown) return std::unexpected(std::move(grown.error()));
    return {};
}

/// `before`: what the route led to.
template <class Address>
auto BasicFib<Address>::acquire(const Group& next_hops, std::optional<Index> before) -> std::optional<Index> {
    const auto* alone = next_hops.alone();
    return alone != nullptr ? next_hops_.acquire(*alone) : groups_.acquire(next_hops, before);
}

template <class Address>
bool BasicFib<Address>::release(Index number) {
    return groups_.holds(number) ? groups_.release(number) : next_hops_.release(number);
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
auto BasicFib<Address>::apply_to_idle(const Change& change) -> Made {
    const int error = apply(idle_.get(), change.prefix, change.next_hop);
    if (error == -ENOSPC) return std::unexpected(Scarce::long_prefixes);
    if (error != 0) {
        return std::unexpected(Error{-error, fmt::format("{}: the route table refuses the change ({})",
                                                         to_string(change.prefix), rte_strerror(-error))});
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
    std::array<std::uint64_t, fib_chunk> indices;
    auto* const table = published_.load(std::memory_order_acquire);
    for (std::size_t at = 0; at < destinations.size(); at += fib_chunk) {
        const auto part = destinations.subspan(at, std::min(fib_chunk, destinations.size() - at));
        FibEngine<Address>::lookup(table, part, indices.data());
        for (std::size_t i = 0; i < part.size(); ++i) next_hops[at + i] = static_cast<Index>(indices[i]);
    }
}

template class BasicFib<wire::Ipv4Address>;
template class BasicFib<wire::Ipv6Address>;

}  // namespace verbline::forward
