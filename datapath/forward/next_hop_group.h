// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Where a route leads: to one next hop, or to several that share its packets by weight (equal-cost multipath, RFC
/// 2992). Equal groups compare equal, in any order of their members.

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "datapath/forward/next_hop.h"
#include "datapath/wire/types.h"

namespace verbline::forward {

/// Address: wire::Ipv4Address or wire::Ipv6Address.
template <class Address>
class BasicNextHopGroup {
public:
    using NextHop = BasicNextHop<Address>;
    static constexpr std::size_t max_members = 64;

    struct Member {
        NextHop hop;
        std::uint32_t weight = 1;  ///< its share of the packets is this of the sum; at least 1

        auto operator<=>(const Member&) const = default;
    };

    BasicNextHopGroup() = default;  ///< unreachable
    // NOLINTNEXTLINE(google-explicit-constructor): a next hop is a group of one
    BasicNextHopGroup(const NextHop& hop) : alone_{hop} {}
    /// Members that are equal become one, of the sum of their weights. Of more than `max_members` the rest is left out.
    /// Several members must all lead out.
    explicit BasicNextHopGroup(std::vector<Member> members) {
        std::ranges::sort(members);
        std::size_t kept = 0;
        for (const auto& member : members) {
            if (kept > 0 && members[kept - 1].hop == member.hop) {
                members[kept - 1].weight += member.weight;
            } else {
                members[kept++] = member;
            }
        }
        members.resize(std::min(kept, max_members));
        if (members.size() > 1) {
            several_ = std::move(members);
        } else if (!members.empty()) {
            alone_.hop = members.front().hop;
        }
    }

    /// The only next hop; null: there are several.
    const NextHop* alone() const { return several_.empty() ? &alone_.hop : nullptr; }
    /// In a fixed order, at least one.
    std::span<const Member> members() const { return several_.empty() ? std::span(&alone_, 1) : std::span(several_); }

    auto operator<=>(const BasicNextHopGroup&) const = default;

private:
    Member alone_;  ///< as if there were none, if there are several
    std::vector<Member> several_;
};
using NextHopGroup = BasicNextHopGroup<wire::Ipv4Address>;
using Ipv6NextHopGroup = BasicNextHopGroup<wire::Ipv6Address>;

}  // namespace verbline::forward
