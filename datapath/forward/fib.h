// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Longest-prefix match (RFC 1812, 5.2.4.3): IPv4 over rte_fib (DIR24-8: a next hop in one memory access for most
/// prefixes), IPv6 over rte_fib6 (a trie of 24, then 8 bits a step).
///
/// One writer, the control thread; any number of shards read. DPDK 22.11's rte_fib may recycle a tbl8 group during one
/// change, so a reader that has just followed a pointer into that group could read another prefix's next hop. Therefore
/// readers never use a table that is being changed; there are two:
///
///     writer:  1. once no shard can still be reading the idle table (a grace period after the last publication),
///                 repeats the last changes on it, so that both are equal, and recycles the next-hop numbers they freed
///              2. makes new changes on it, and publishes it: shards use it from their next burst on
///     shard:   reads the published table; reports a quiescent state to the rte_rcu_qsbr between bursts
///
/// A change is thus atomic for readers. The writer waits for none: a change for which it is too early waits, one for
/// each prefix, until `advance` finds that the shards have gone on, and makes all that wait at once. So a shard that
/// stands still keeps routes as they are, but not the control thread from its other work.
///
/// Each table is 32 MB (2-byte next hops), and half a kilobyte for each group of longer prefixes; a fixed size. As most
/// hosts have few IPv6 routes, these are first kept in a binary tree of each route's bits (rte_rib6), which takes a few
/// kilobytes; one route too many replaces both trees by tables.
///
/// A route leads to a next hop or to a group of them; `lookup` finds the number of either, and a shard picks a member
/// of a group for each packet (GroupTable). A change of a group's members is a change of the routes that lead to it.
///
/// The shards must be registered with the rte_rcu_qsbr and go offline (rte_rcu_qsbr_thread_offline) before they sleep;
/// the writer must not be one of its readers.

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "datapath/forward/group_table.h"
#include "datapath/forward/next_hop.h"
#include "datapath/forward/next_hop_group.h"
#include "datapath/wire/types.h"
#include "pmd/base/error.h"

struct rte_fib;
struct rte_fib6;
struct rte_rcu_qsbr;

namespace verbline::forward {

/// What differs between the families.
template <class Address>
struct FibTypes;
template <>
struct FibTypes<wire::Ipv4Address> {
    using Table = rte_fib;
    static constexpr const char* name = "fib";
    static constexpr std::uint32_t max_long = 1'024;
    static constexpr std::uint32_t tree_routes = 0;
};
template <>
struct FibTypes<wire::Ipv6Address> {
    using Table = rte_fib6;
    static constexpr const char* name = "fib6";
    static constexpr std::uint32_t max_long = 16'384;  ///< rte_fib6 reserves five for a /64, thirteen for a /128
    static constexpr std::uint32_t tree_routes = 64;
};

using Prefix = wire::Ipv4Prefix;  ///< bits behind the prefix are zero
using Ipv6Prefix = wire::Ipv6Prefix;

template <class Address>
struct BasicRoute {
    wire::PrefixOf<Address> prefix;
    BasicNextHopGroup<Address> next_hops;
    auto operator<=>(const BasicRoute&) const = default;
};
using Route = BasicRoute<wire::Ipv4Address>;

/// Address: wire::Ipv4Address or wire::Ipv6Address.
template <class Address>
class BasicFib {
public:
    using Types = FibTypes<Address>;
    using Prefix = wire::PrefixOf<Address>;
    using NextHop = BasicNextHop<Address>;
    using Group = BasicNextHopGroup<Address>;
    using Route = BasicRoute<Address>;
    using Index = typename NextHopTable<Address>::Index;

    struct Config {
        std::string name = Types::name;            ///< unique in the process, at most 16 characters
        std::uint32_t max_routes = 16'384;         ///< about 0.3 kB each
        std::uint32_t max_long = Types::max_long;  ///< groups for prefixes longer than /24; a multiple of 64
        std::uint16_t max_next_hops = 4'096;
        std::uint16_t max_groups = 512;                  ///< of next hops, different ones; 0.7 kB each
        std::uint32_t tree_routes = Types::tree_routes;  ///< up to so many are in a tree; 0: in tables at once
    };

    /// `readers` must outlive the Fib. No shard may read the Fib when it is destroyed.
    static Result<std::unique_ptr<BasicFib>> create(const Config& config, rte_rcu_qsbr& readers);
    ~BasicFib();
    BasicFib(const BasicFib&) = delete;
    BasicFib& operator=(const BasicFib&) = delete;

    // Writer. Changes are made at once, or wait for `advance`; no call waits.

    /// Adds a route, or replaces the prefix's present one; packets find either the old or the new route, never none.
    /// One that waits may still be refused.
    Result<void> replace(const Prefix& prefix, const NextHop& next_hop) { return replace(prefix, Group(next_hop)); }
    Result<void> replace(const Prefix& prefix, const Group& next_hops);
    /// Removes a route. ENOENT if the prefix has none.
    Result<void> remove(const Prefix& prefix);

    /// Makes the changes that wait, if no shard can still be reading the idle table. Call about every millisecond while
    /// there are some.
    void advance();
    /// The number of changes that wait.
    std::size_t waiting() const { return waiting_.size(); }
    /// Called by the writer's calls for each change that waited and is refused. Empty: nothing is.
    void on_refused(std::function<void(const Error&)> handler) { refused_ = std::move(handler); }

    /// All routes that packets find, in order of prefix.
    std::vector<Route> routes() const;
    std::size_t size() const { return routes_.size(); }

    // Readers:

    /// Stores the number of the next hop or group of `destinations[i]` in `next_hops[i]`, which must have as many
    /// elements; that of `unreachable` if there is no route. Numbers are valid until the reader's next quiescent state.
    void lookup(std::span<const Address> destinations, std::span<Index> next_hops) const noexcept;
    const NextHop& next_hop(Index number) const noexcept { return next_hops_.at(number); }
    /// What is not a next hop's number is one of these; ask after `lookup`.
    const GroupTable<Address>& groups() const noexcept { return groups_; }
    /// All numbers of next hops are below.
    std::size_t max_next_hops() const { return config_.max_next_hops; }

private:
    /// A change of one table: the number of the prefix's new next hop or group, or none to remove its route.
    struct Change {
        Prefix prefix;
        std::optional<Index> next_hop;
    };
    struct Free {
        void operator()(typename Types::Table* table) const;
    };
    using Table = std::unique_ptr<typename Types::Table, Free>;
    struct Tables {
        Table published, idle;
    };

    BasicFib(const Config& config, rte_rcu_qsbr& readers, Tables tables);
    static Result<Tables> make_tables(const Config& config);
    Result<void> change(const Prefix& prefix, const std::optional<Group>& next_hops);
    void make_waiting();
    bool idle_is_unread() const;
    Result<void> catch_up();
    Result<void> make(const Prefix& prefix, const std::optional<Group>& next_hops);
    Result<void> grow();
    std::optional<Index> acquire(const Group& next_hops, std::optional<Index> before);
    void release(Index number);
    Result<void> apply_to_idle(const Change& change);
    void publish();

    Config config_;  ///< `tree_routes` is 0 once the trees are gone
    rte_rcu_qsbr& readers_;
    Table published_owner_, idle_;
    Table grown_;     ///< becomes idle with the next publication, which is that of the first table after the trees
    Table outgrown_;  ///< the tree that was published until then; shards may still be reading it
    std::atomic<typename Types::Table*> published_;
    NextHopTable<Address> next_hops_;
    GroupTable<Address> groups_;
    std::map<Prefix, Index> routes_;
    std::vector<Change> behind_;                      ///< what the last publication has and `idle_` has not
    std::map<Prefix, std::optional<Group>> waiting_;  ///< none: to be removed
    std::function<void(const Error&)> refused_;
    std::uint64_t grace_ = 0;  ///< the RCU token of the last publication
};

extern template class BasicFib<wire::Ipv4Address>;
extern template class BasicFib<wire::Ipv6Address>;
using Fib = BasicFib<wire::Ipv4Address>;
using Ipv6Fib = BasicFib<wire::Ipv6Address>;

}  // namespace verbline::forward
