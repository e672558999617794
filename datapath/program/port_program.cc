// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/program/port_program.h"

#include <algorithm>

#include <rte_rcu_qsbr.h>

namespace verbline::program {

PortProgram::PortProgram(std::vector<std::string> ports, std::uint16_t port, std::size_t shards, rte_rcu_qsbr& readers)
    : ports_(std::move(ports)),
      port_(port),
      readers_(readers),
      memory_(shards),
      tables_owner_(std::make_unique<PrefixTables>()),
      tables_(tables_owner_.get()) {}

Result<std::unique_ptr<Program>> PortProgram::prepare(const Object& object, VerifierLog& log) {
    return Program::load(object, memory_, ports_, log);
}

void PortProgram::publish(std::unique_ptr<Program> program) {
    auto old = std::exchange(program_, std::move(program));
    if (!old && program_) clear_memory();
    current_.store(program_.get(), std::memory_order_release);
    if (old) retire(std::move(old));
}

void PortProgram::set_prefixes(std::unique_ptr<const PrefixTables> tables) {
    auto old = std::exchange(tables_owner_, std::move(tables));
    tables_.store(tables_owner_.get(), std::memory_order_release);
    retire(std::move(old));
}

void PortProgram::retire(std::shared_ptr<const void> old) {
    retired_.emplace_back(rte_rcu_qsbr_start(&readers_), std::move(old));
}

void PortProgram::reclaim() {
    while (!retired_.empty() && rte_rcu_qsbr_check(&readers_, retired_.front().first, false) == 1) retired_.pop_front();
}

/// A shard may still be running the last program: what that adds now is lost or kept, as the shard's stores fall.
void PortProgram::clear_memory() {
    for (auto& shard : memory_) {
        for (auto& counter : shard.counters) std::atomic_ref(counter).store(0, std::memory_order_relaxed);
        for (auto& word : shard.state) std::atomic_ref(word).store(0, std::memory_order_relaxed);
    }
}

std::vector<std::uint64_t> PortProgram::counters() const {
    std::vector<std::uint64_t> sums(VERBLINE_COUNTERS);
    for (const auto& shard : memory_) {
        for (std::size_t i = 0; i < sums.size(); ++i) {
            auto& counter = const_cast<std::uint64_t&>(shard.counters[i]);  // of atomic_ref; it is read alone
            sums[i] += std::atomic_ref(counter).load(std::memory_order_relaxed);
        }
    }
    return sums;
}

}  // namespace verbline::program
