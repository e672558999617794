// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Brokers direct links between programs of a hub, over the control socket of the port's lane.

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "apps/libibverbs/link/link.h"
#include "pmd/direct/broker.h"

namespace verbline::verbs {

/// Threads: the one that runs the link's upkeep. Other threads use the same control socket under `hub_mutex`, and hold
/// it while they wait for the hub's answer: meanwhile `ask` returns false and `next_news` nothing.
class HubBroker final : public pmd::DirectBroker {
public:
    HubBroker(const OpenedLink& link, std::mutex& hub_mutex) : link_(link), hub_mutex_(hub_mutex) {}

    int event() const override { return link_.lane.control.get(); }
    bool ask(wire::MacAddress peer) override;
    std::optional<pmd::DirectNews> next_news() override;
    void end(pmd::DirectId id) override;
    /// The hub is another one, which knows of no links.
    void restart() { ended_.clear(); }

private:
    void say_ended();

    const OpenedLink& link_;
    std::mutex& hub_mutex_;
    std::vector<pmd::DirectId> ended_;  ///< links that have ended, not yet reported to the hub
};

}  // namespace verbline::verbs
