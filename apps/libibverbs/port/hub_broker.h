// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The hub of a port's lane, as the one who introduces programs to each other.

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "apps/libibverbs/port/link.h"
#include "pmd/direct/broker.h"

namespace verbline::verbs {

/// Threads: whoever looks after the link. Others lead the same conversation under `hub_mutex`, and wait for answers in
/// it: while they do there are no news, and nothing can be asked.
class HubBroker final : public pmd::DirectBroker {
public:
    HubBroker(const OpenedLink& link, std::mutex& hub_mutex) : link_(link), hub_mutex_(hub_mutex) {}

    int event() const override { return link_.lane.control.get(); }
    bool ask(wire::MacAddress peer) override;
    std::optional<pmd::DirectNews> next_news() override;
    void end(pmd::DirectId id) override;

private:
    void say_ended();

    const OpenedLink& link_;
    std::mutex& hub_mutex_;
    std::vector<pmd::DirectId> ended_;  ///< of which the hub has not heard yet
};

}  // namespace verbline::verbs
