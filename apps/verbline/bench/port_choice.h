// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a measurement asks of its ports of DPDK, as typed and parsed.

#include <span>
#include <string>
#include <vector>

#include "pmd/base/error.h"
#include "pmd/ethdev/offloads.h"
#include "pmd/factory/device_spec.h"

namespace verbline::bench {

struct PortTexts {
    std::string offloads = "none";  ///< pmd::parse_offloads; as a flag, too: true, or nothing, is all
    std::string rss_types = {};     ///< pmd::choose_rss_types; empty: the usual ones
};

struct PortChoice {
    PortTexts texts;  ///< of a flag, what it means
    pmd::OffloadChoice offloads = pmd::OffloadChoice::none();

    /// What differs from what ports have if nothing is said.
    bool has_any() const { return texts.offloads != PortTexts().offloads || !texts.rss_types.empty(); }
};

/// EINVAL: one line that names the option. Only ports of DPDK have what can be named.
Result<PortChoice> choose_ports(const PortTexts& texts, std::span<const pmd::DeviceSpec> devices);

}  // namespace verbline::bench
