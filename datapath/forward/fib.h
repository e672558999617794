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
/// A change is thus atomic for readers. The writer waits for none: a change within the grace period is queued, one for
/// each prefix, until `advance` finds the grace period over, and applies all queued changes at once. So a shard that
/// stalls delays changes of routes, but not the control thread's other work.
///
/// Each table is 32 MB (2-byte next hops), and half a kilobyte for each group of longer prefixes; both twice as large
/// if there may be more groups than 2 bytes can number. The sizes are fixed; groups that are not in use are not
/// resident. As most hosts have few IPv6 routes, these are first kept in a binary tree of each route's bits (rte_rib6),
/// which takes a few kilobytes; one route too many replaces both trees by tables.
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
#include <variant>
#include <vector>

#include "datapath/forward/group_table.h"
#include "datapath/forward/next_hop.h"
#include "datapath/forward/next_hop_group.h"
#include "datapath/forward/refused_routes.h"
#include "datapath/wire/types.h"
#include "pmd/base/counter.h"
#include "pmd/base/error.h"

struct rte_fib;
struct rte_fib6;
struct rte_rcu_qsbr;

namespace verbline::forward {

/// Refused routes are not used until others make room.
#define VERBLINE_FIB_COUNTERS(X)                                                                     \
    X(routes_refused_full, "routes refused because the table has as many as it may")                 \
    X(routes_refused_next_hops, "routes refused because of too many different next hops, or groups") \
    X(routes_refused_long, "routes refused because too many prefixes are longer than 24 bits")       \
    X(routes_installed_later, "refused routes that are used since others made room")

struct FibCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_FIB_COUNTERS)
};

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
        std::uint32_t max_routes = 16'384;         ///< exactly so many; `memory` says what they take
        std::uint32_t max_long = Types::max_long;  ///< groups for prefixes longer than /24; a multiple of 64
        std::uint16_t max_next_hops = 4'096;
        std::uint16_t max_groups = 512;                  ///< of next hops, different ones; 0.7 kB each
        std::uint32_t tree_routes = Types::tree_routes;  ///< up to so many are in a tree; 0: in tables at once
    };

    /// Bytes of EAL memory that the tables take, once there are no trees any more; at most.
    static std::size_t memory(const Config& config);

    /// `readers` must outlive the Fib. No shard may read the Fib when it is destroyed.
    static Result<std::unique_ptr<BasicFib>> create(const Config& config, rte_rcu_qsbr& readers);
    ~BasicFib();
    BasicFib(const BasicFib&) = delete;
    BasicFib& operator=(const BasicFib&) = delete;

    // Writer. Changes are made at once, or wait for `advance`; no call waits.

    /// Adds a route, or replaces the prefix's present one; packets find either the old or the new route, never none.
    /// One that waits may still be refused. One that is refused for want of room (ENOSPC) is kept, and used as soon as
    /// others have made room, unless it is replaced or removed before; until then the prefix has no route, neither the
    /// old nor the new.
    Result<void> replace(const Prefix& prefix, const NextHop& next_hop) { return replace(prefix, Group(next_hop)); }
    Result<void> replace(const Prefix& prefix, const Group& next_hops);
    /// Removes a route, also one that was refused for want of room. ENOENT if the prefix has none.
    Result<void> remove(const Prefix& prefix);

    /// Makes the changes that wait, if no shard can still be reading the idle table. Call about every millisecond while
    /// there are some.
    void advance();
    /// The number of changes that wait; one, if `advance` may have room for refused routes.
    std::size_t waiting() const { return waiting_.size() + (room_later_ && !refused_.empty() ? 1 : 0); }
    /// The number of routes that are refused for want of room.
    std::size_t refused() const { return refused_.size(); }
    /// Called by the writer's calls for each change that waited and is refused. Empty: nothing is.
    void on_refused(std::function<void(const Error&)> handler) { on_refused_ = std::move(handler); }

    const FibCounters& counters() const { return counters_; }
    /// All routes that packets find, in order of prefix.
    std::vector<Route> routes() const;
    std::size_t size() const { return routes_.size(); }

    // Readers:

    /// Stores the number of the next hop or group of `destinations[i]` in `next_hops[i]`, which must have as many
    /// elements; that of `unreachable` if there is no route. Numbers are valid until the reader's next quiescent state.
    void lookup(std::span<const Address> destinations, std::span<Index> next_hops) const noexcept;
    const NextHop& next_hop(Index number) const noexcept { return next_hops_.at(number); }
    /// Other numbers are these groups'. Call after `lookup`.
    const GroupTable<Address>& groups() const noexcept { return groups_; }
    /// All numbers of next hops are below.
    std::size_t max_next_hops() const { return config_.max_next_hops; }

private:
    /// A change of one table: the number of the prefix's new next hop or group, or none to remove its route.
    struct Change {
        Prefix prefix;
        std::optional<Index> next_hop;
    };
    /// What a change finds no room in.
    enum class Scarce : std::uint8_t { routes, next_hops, long_prefixes };
    using Made = std::expected<void, std::variant<Scarce, Error>>;
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
    Made install(const Prefix& prefix, const Group& next_hops);
    Made uninstall(const Prefix& prefix);
    void count(Scarce scarce);
    Error no_room(const Prefix& prefix, Scarce scarce) const;
    void install_refused();
    Made make_room();
    Result<void> grow();
    std::optional<Index> acquire(const Group& next_hops, std::optional<Index> before);
    bool release(Index number);
    Made apply_to_idle(const Change& change);
    void publish();

    Config config_;  ///< `tree_routes` is 0 once tables have replaced the trees
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
    RefusedRoutes<Prefix, Group> refused_;
    bool room_ = false;        ///< routes went, or numbers became free, and no refused route has been tried since
    bool room_later_ = false;  ///< numbers of next hops or groups will be free after the grace period
    std::function<void(const Error&)> on_refused_;
    FibCounters counters_;
    std::uint64_t grace_ = 0;  ///< the RCU token of the last publication
};

extern template class BasicFib<wire::Ipv4Address>;
extern template class BasicFib<wire::Ipv6Address>;
using Fib = BasicFib<wire::Ipv4Address>;
using Ipv6Fib = BasicFib<wire::Ipv6Address>;

}  // namespace verbline::forward
