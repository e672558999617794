// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The program of one port, its set of prefixes, and the shards' counters and state.
///
///     control thread                                   shards
///     publish ── program, atomically ───────────────>  current(), within a poll
///     set_prefixes ── new tables ───────────────────>  prefixes(), within a poll
///     reclaim ── frees what no shard can hold <──────  quiescent states (rte_rcu_qsbr, as for the FIBs)
///
/// A shard takes either the old or the new program for a burst, and loses no packet when it changes. The writer waits
/// for no shard: what was replaced is freed by a later `reclaim`.

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "datapath/program/functions.h"
#include "datapath/program/prefix_table.h"
#include "datapath/program/program.h"
#include "pmd/base/counter.h"
#include "pmd/base/error.h"

struct rte_rcu_qsbr;

namespace verbline::program {

class PortProgram {
public:
    /// `ports`: the names of all ports, by number; this one's number is `port`. `readers` must outlive the object, and
    /// no shard may use it when it is destroyed.
    PortProgram(std::vector<std::string> ports, std::uint16_t port, std::size_t shards, rte_rcu_qsbr& readers);
    PortProgram(const PortProgram&) = delete;
    PortProgram& operator=(const PortProgram&) = delete;

    // Control thread.

    /// Verifies and compiles a program for this port; nothing changes until it is published.
    Result<std::unique_ptr<Program>> prepare(const Object& object, VerifierLog& log);
    /// From their next burst on, shards run this one; null: none. The first after none finds counters and state at
    /// zero.
    void publish(std::unique_ptr<Program> program);
    void set_prefixes(std::unique_ptr<const PrefixTables> tables);
    /// Frees programs and tables that were replaced and that no shard can hold any more. Call a few times a second.
    void reclaim();
    /// Programs and tables that wait to be freed.
    std::size_t retired() const { return retired_.size(); }
    /// Sums of all shards.
    std::vector<std::uint64_t> counters() const;

    // Shards; also the control thread, which alone changes them. Valid until the shard's next quiescent state.

    const Program* current() const noexcept { return current_.load(std::memory_order_acquire); }
    const PrefixTables& prefixes() const noexcept { return *tables_.load(std::memory_order_acquire); }

    std::uint16_t port() const { return port_; }
    std::size_t ports() const { return ports_.size(); }
    std::size_t shards() const { return memory_.size(); }

private:
    void retire(std::shared_ptr<const void> old);
    void clear_memory();

    std::vector<std::string> ports_;
    std::uint16_t port_;
    rte_rcu_qsbr& readers_;
    std::vector<ShardMemory> memory_;  ///< by shard
    std::unique_ptr<Program> program_;
    std::unique_ptr<const PrefixTables> tables_owner_;
    std::atomic<const Program*> current_ = nullptr;
    std::atomic<const PrefixTables*> tables_;
    std::deque<std::pair<std::uint64_t, std::shared_ptr<const void>>> retired_;  ///< by RCU token, the oldest in front
};

}  // namespace verbline::program
