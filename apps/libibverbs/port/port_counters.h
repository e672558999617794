// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The counters of a port under the names that the kernel's sysfs has for them, and as performance management reports
/// them (IBTA volume 1, 16.1.3.5).

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "datapath/rdma/device.h"
#include "pmd/netdev.h"

namespace verbline::verbs {

struct PortCounters {
    using List = std::vector<std::pair<std::string, std::uint64_t>>;

    List counters;     ///< ports/1/counters: of the link
    List hw_counters;  ///< ports/1/hw_counters: of the transport

    /// The value of a counter of the link; 0 if there is none of this name.
    std::uint64_t of(std::string_view name) const;
};

/// `downs`: how often the link went down. What a link in software cannot have, such as symbol errors, is not listed.
/// Any thread.
PortCounters port_counters(const rdma::Device& device, const pmd::NetDevice& link, std::uint64_t downs);

}  // namespace verbline::verbs
