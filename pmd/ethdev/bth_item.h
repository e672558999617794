// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// DPDK's pattern for the base transport header, which 23.07 and newer have: the build looks (meson.build). All that
/// depends on it is here.

#include <cstdint>

#include <rte_flow.h>

namespace verbline::pmd {

#ifdef VERBLINE_DPDK_MATCHES_BTH

struct BthItem {
    static constexpr bool known = true;
    rte_flow_item_ib_bth spec{}, mask{};

    /// Matches destination QPNs. The item refers to this object.
    rte_flow_item item(std::uint32_t qpn, std::uint32_t qpn_mask) {
        for (int byte = 0; byte < 3; ++byte) {  // IBTA volume 1, 9.2: 24 bits, the first byte is the highest
            spec.hdr.dst_qp[byte] = static_cast<std::uint8_t>(qpn >> (16 - 8 * byte));
            mask.hdr.dst_qp[byte] = static_cast<std::uint8_t>(qpn_mask >> (16 - 8 * byte));
        }
        return {.type = RTE_FLOW_ITEM_TYPE_IB_BTH, .spec = &spec, .last = nullptr, .mask = &mask};
    }
};

#else

struct BthItem {
    static constexpr bool known = false;
    static rte_flow_item item(std::uint32_t /*qpn*/, std::uint32_t /*qpn_mask*/) {
        return {.type = RTE_FLOW_ITEM_TYPE_END, .spec = nullptr, .last = nullptr, .mask = nullptr};
    }
};

#endif

}  // namespace verbline::pmd
