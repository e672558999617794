// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IPv4 longest-prefix match (RFC 1812, 5.2.4.3) over rte_fib: DIR24-8, a next hop in one memory access for most
/// prefixes.
///
/// One writer, the control thread; any number of shards read. DPDK 22.11's rte_fib may recycle a tbl8 group during one
/// change, so a reader that has just followed a pointer into that group could read another prefix's next hop. Therefore
/// readers never use a table that is being changed; there are two:
///
///     writer:  1. waits until no shard can still be reading the idle table (a grace period after the last change)
///              2. repeats the last change on it, so that both are equal, and recycles the next-hop numbers it freed
///              3. makes the new change on it, and publishes it: shards use it from their next burst on
///     shard:   reads the published table; reports a quiescent state to the rte_rcu_qsbr between bursts
///
/// A change is thus atomic for readers. It waits at most for one poll of each shard, and mostly not at all, since the
/// wait is for the previous change. Each table is 32 MB (2-byte next hops), a fixed size.
///
/// The shards must be registered with the rte_rcu_qsbr and go offline (rte_rcu_qsbr_thread_offline) before they sleep;
/// the writer must not be one of its readers, or it would wait for itself.

#include <atomic>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "datapath/forward/next_hop.h"
#include "datapath/wire/types.h"
#include "pmd/base/error.h"

struct rte_fib;
struct rte_rcu_qsbr;

namespace verbline::forward {

using Prefix = wire::Ipv4Prefix;  ///< bits behind the prefix are zero

struct Route {
    Prefix prefix;
    NextHop next_hop;
    auto operator<=>(const Route&) const = default;
};

class Fib {
public:
    struct Config {
        std::string name = "fib";           ///< unique in the process, at most 16 characters
        std::uint32_t max_routes = 16'384;  ///< about 0.3 kB each
        std::uint32_t max_long = 1'024;     ///< /24 networks that may hold longer prefixes; a multiple of 64
        std::uint16_t max_next_hops = 4'096;
    };

    /// `readers` must outlive the Fib. No shard may read the Fib when it is destroyed.
    static Result<std::unique_ptr<Fib>> create(const Config& config, rte_rcu_qsbr& readers);
    ~Fib();
    Fib(const Fib&) = delete;
    Fib& operator=(const Fib&) = delete;

    // Writer:

    /// Adds a route, or replaces the prefix's present one; packets find either the old or the new route, never none.
    Result<void> replace(const Prefix& prefix, const NextHop& next_hop);
    /// Removes a route. ENOENT if the prefix has none.
    Result<void> remove(const Prefix& prefix);

    /// All routes, in order of prefix.
    std::vector<Route> routes() const;
    std::size_t size() const { return routes_.size(); }

    // Readers:

    /// Stores the next hop of `destinations[i]` in `next_hops[i]`, which must have as many elements; `unreachable` if
    /// there is no route.
    void lookup(std::span<const wire::Ipv4Address> destinations, std::span<NextHop> next_hops) const noexcept;

private:
    /// A change of one table: the prefix's new next-hop number, or none to remove its route.
    struct Change {
        Prefix prefix;
        std::optional<NextHopTable::Index> next_hop;
    };
    struct Free {
        void operator()(rte_fib* table) const;
    };
    using Table = std::unique_ptr<rte_fib, Free>;

    Fib(rte_rcu_qsbr& readers, Table first, Table second, std::size_t max_next_hops);
    Result<void> catch_up();
    Result<void> publish(const Change& change);

    rte_rcu_qsbr& readers_;
    Table published_owner_, idle_;
    std::atomic<rte_fib*> published_;
    NextHopTable next_hops_;
    std::map<Prefix, NextHopTable::Index> routes_;
    std::optional<Change> behind_;  ///< the change not yet applied to `idle_`
    std::uint64_t grace_ = 0;       ///< the RCU token of the last publication
};

}  // namespace verbline::forward
