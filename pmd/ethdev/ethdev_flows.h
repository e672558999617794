// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A DPDK port's table of rules (rte_flow).

#include <memory>
#include <string>
#include <vector>

#include "pmd/ethdev/roce_rules.h"

struct rte_flow;

namespace verbline::pmd {

class EthdevFlows final : public FlowTable {
public:
    /// Of a port that runs, and outlives this. ENODEV: there is no such port.
    static Result<std::unique_ptr<EthdevFlows>> of_port(const std::string& name);
    ~EthdevFlows() override { EthdevFlows::clear(); }

    bool knows_qpns() const override;
    Result<void> validate(const FlowRule& rule) override;
    Result<void> create(const FlowRule& rule) override;
    void clear() override;

private:
    explicit EthdevFlows(std::uint16_t port) : port_(port) {}

    std::uint16_t port_;
    std::vector<rte_flow*> rules_;
};

}  // namespace verbline::pmd
