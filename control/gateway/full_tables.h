// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Says which tables of a gateway are full, each once, with the setting to raise. Owned by the control thread.

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "control/gateway/config.h"
#include "datapath/forward/fib.h"

namespace verbline::gateway {

class FullTables {
public:
    /// `report` is called with one line.
    FullTables(const Limits& limits, std::function<void(const std::string&)> report)
        : limits_(limits), report_(std::move(report)) {}

    /// What has been refused so far, `neighbours` by all shards. Call a few times a second.
    void look_after(const forward::FibCounters& ipv4, const forward::FibCounters& ipv6, std::uint64_t neighbours);

private:
    void routes(std::string_view family, std::string_view setting, std::uint32_t limit,
                const forward::FibCounters& refused);
    void say(std::string line);

    Limits limits_;
    std::function<void(const std::string&)> report_;
    std::set<std::string> said_;
};

}  // namespace verbline::gateway
