// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Next hops, and the table that assigns them the FIB's small numbers.

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "datapath/forward/interface_id.h"
#include "datapath/wire/types.h"

namespace verbline::forward {

enum class NextHopKind : std::uint8_t {
    unreachable,  ///< no route; the sender gets ICMP destination unreachable
    blackhole,    ///< dropped silently
    local,        ///< a local address: for the host that this router runs on
    on_link,      ///< the destination itself is a neighbour on `interface`
    via,          ///< forwarded to the neighbour `gateway` on `interface`
};

/// Whether packets are forwarded to a link.
constexpr bool leads_out(NextHopKind kind) {
    return kind == NextHopKind::on_link || kind == NextHopKind::via;
}

/// Address: wire::Ipv4Address or wire::Ipv6Address.
template <class Address>
struct BasicNextHop {
    using Kind = NextHopKind;

    Kind kind = Kind::unreachable;
    InterfaceId interface{};
    Address gateway{};  ///< only for `via`

    auto operator<=>(const BasicNextHop&) const = default;
};
using NextHop = BasicNextHop<wire::Ipv4Address>;
using Ipv6NextHop = BasicNextHop<wire::Ipv6Address>;
static_assert(sizeof(NextHop) == 8, "eight to a cache line");

/// Next hops by number, each stored once and reference-counted. Number 0 is always `unreachable`.
///
/// Readers call `at` with numbers from the FIB. The writer counts references; a number without references is reused
/// only after `recycle`, which its owner calls when no reader can hold that number any more.
template <class Address>
class NextHopTable {
public:
    using NextHop = BasicNextHop<Address>;
    using Index = std::uint16_t;
    static constexpr Index unreachable = 0;

    /// `capacity` counts all numbers, 0 among them.
    explicit NextHopTable(std::size_t capacity) : hops_(new NextHop[capacity]), references_(capacity) {
        for (auto i = capacity; i-- > 1;) free_.push_back(static_cast<Index>(i));
        references_[unreachable] = 1;
        known_.emplace(NextHop{}, unreachable);
    }

    /// Adds a reference to the number of `hop` and returns it; none if the table is full.
    std::optional<Index> acquire(const NextHop& hop) {
        const auto [entry, fresh] = known_.try_emplace(hop, Index{0});
        if (fresh) {
            if (free_.empty()) {
                known_.erase(entry);
                return std::nullopt;
            }
            entry->second = free_.back();
            free_.pop_back();
            hops_[entry->second] = hop;
        }
        ++references_[entry->second];
        return entry->second;
    }

    /// Returns whether that was the last reference.
    bool release(Index index) {
        if (--references_[index] > 0) return false;
        known_.erase(hops_[index]);
        retired_.push_back(index);
        return true;
    }

    /// Makes released numbers available. Call only when no reader holds a number that was released before.
    void recycle() {
        free_.insert(free_.end(), retired_.begin(), retired_.end());
        retired_.clear();
    }

    const NextHop& at(Index index) const { return hops_[index]; }
    std::size_t size() const { return known_.size(); }

private:
    std::unique_ptr<NextHop[]> hops_;
    std::vector<std::uint32_t> references_;
    std::map<NextHop, Index> known_;
    std::vector<Index> free_;
    std::vector<Index> retired_;
};

}  // namespace verbline::forward
