// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The port of an InfiniBand link, or of one over RoCE v2, that is in several partitions, presented as one device for
/// each (pmd/trunk/trunk.h). Frames go to the port of their P_Key's partition, full or limited: whether a
/// full and a limited member may communicate is checked by the receiving queue pair, as are all CRCs (IBTA volume
/// 1, 10.9.3).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pmd/base/counter.h"
#include "pmd/partition/pkey.h"
#include "pmd/trunk/trunk.h"

namespace verbline::pmd::partition {

enum class Number : std::uint16_t {};  ///< a P_Key without its membership bit

#define VERBLINE_PARTITION_COUNTERS(X) X(rx_dropped_partition, "packets of a partition that no port here is in")

struct PartitionCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_PARTITION_COUNTERS)
};

struct NoCounters {
    void each(const CounterVisitor&) const {}
};

/// By P_Key. Whoever sends has put it there.
struct Sorting {
    using Key = Number;
    using TrunkCounters = PartitionCounters;
    using PortCounters = NoCounters;
    static constexpr std::size_t keys = 1 << 15;

    /// As the kernel names such interfaces: NAME.8001.
    static std::string name(std::string_view device, Number number);
    static std::optional<Number> take(const rte_mbuf& frame) noexcept {
        const auto pkey = pkey_of({rte_pktmbuf_mtod(&frame, const std::byte*), frame.data_len});
        if (!pkey) return std::nullopt;
        return Number{wire::partition(*pkey)};
    }
    static Counter& no_port(PartitionCounters& counters) { return counters.rx_dropped_partition; }
    /// A frame without a P_Key goes to the first port, which counts the reason for dropping it.
    static Counter* keyless(PartitionCounters&) { return nullptr; }
};

using Trunk = trunk::Trunk<Sorting>;

}  // namespace verbline::pmd::partition

extern template class verbline::pmd::trunk::Trunk<verbline::pmd::partition::Sorting>;
extern template class verbline::pmd::trunk::Port<verbline::pmd::partition::Sorting>;
