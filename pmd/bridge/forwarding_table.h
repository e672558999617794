// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// MAC learning table: maps an address to the member behind which it was last seen.
///
/// Bounded and lock-free: an entry is one 64-bit word (address, member, age), so that every shard learns and looks up
/// with plain loads and stores while the control thread ages entries. If two shards learn the same address at once, the
/// entry of either remains.
///
///     +-------------------------- 48 --------------------------+-- 5 ---+--- 11 ---+
///     |                      MAC address                       | member |   age    |
///     +--------------------------------------------------------+--------+----------+

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "pmd/base/time.h"

namespace verbline::pmd {

class ForwardingTable {
public:
    static constexpr std::size_t sets = 256, ways = 4;
    static constexpr std::size_t max_members = 32;
    static constexpr Time max_age = 300 * second;  ///< IEEE 802.1Q, 8.8.3: the recommended ageing time

    /// Records that `mac` (low 48 bits, as below) is behind `member`.
    void learn(std::uint64_t mac, unsigned member);
    std::optional<unsigned> find(std::uint64_t mac) const;

    /// Removes entries older than `max_age`. Control thread, at least once a minute.
    void expire(Time now);
    /// Removes all entries of a member, whose link went down. Control thread.
    void forget(unsigned member);
    std::size_t size() const;

private:
    using Entry = std::uint64_t;  ///< 0: empty; 0 is no valid source address

    static constexpr unsigned age_bits = 11, member_bits = 5;
    static constexpr std::uint64_t age_mask = (1u << age_bits) - 1;

    static std::uint64_t mac_of(Entry entry) { return entry >> (age_bits + member_bits); }
    static unsigned member_of(Entry entry) { return (entry >> age_bits) & (max_members - 1); }
    static std::size_t set_of(std::uint64_t mac) { return (mac * 0x9e3779b97f4a7c15u) >> 56; }
    std::uint64_t age_of(Entry entry) const;
    template <class Stale>
    void drop_if(Stale stale);

    std::array<std::array<std::atomic<Entry>, ways>, sets> entries_{};
    std::atomic<std::uint64_t> now_{0};  ///< ticks of about a second, modulo 2^11
};

}  // namespace verbline::pmd
