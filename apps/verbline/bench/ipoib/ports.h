// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The devices that packets cross, open, with the packet buffers of all.

#include <expected>
#include <memory>
#include <vector>

#include "apps/verbline/bench/ipoib/plan.h"
#include "apps/verbline/bench/ports.h"

struct rte_mempool;

namespace verbline::ipoib_bench {

/// Opened, asked about their links and closed by the main thread.
class Ports {
public:
    /// EINVAL: a device cannot have what the plan asks for.
    static Result<std::unique_ptr<Ports>> open(const IpoibPlan& plan);

    pmd::NetDevice& out() { return *devices_.front(); }
    pmd::NetDevice& in() { return *devices_.back(); }
    rte_mempool& pool() { return *pool_; }
    const std::vector<bench::PortFacts>& facts() const { return facts_; }
    /// A device without a link, as typed; null: all have one. Devices that reconnect do so in this call.
    const std::string* without_link();

    static std::size_t buffer_memory_mb(const IpoibPlan& plan);

private:
    Result<void> open_device(const IpoibPlan& plan, std::size_t index);

    std::unique_ptr<rte_mempool, bench::FreePool> pool_;
    std::vector<std::unique_ptr<pmd::NetDevice>> devices_;  // before their pool
    std::vector<bench::PortFacts> facts_;
};

}  // namespace verbline::ipoib_bench
