// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The two ends of a link: interfaces as gateway and host have them, and what the sender knows of the receiver.

#include <memory>

#include "apps/verbline/bench/ipoib/plan.h"
#include "datapath/link/interface.h"

namespace verbline::ipoib_bench {

struct Ends {
    std::unique_ptr<link::Interface> sender, receiver;
    link::Destination to_receiver;
};

/// On queue 0 of the devices, which may be one device. Devices and pool outlive the ends, which one thread uses.
Ends make_ends(LinkKind kind, pmd::NetDevice& out, pmd::NetDevice& in, rte_mempool& pool);

}  // namespace verbline::ipoib_bench
