// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/neighbours.h"

#include <array>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/packet.h"

namespace verbline::forward {
namespace {

struct OwnCounters {
    NeighbourCounters counters;
};
/// A table with counters of its own.
template <class IpAddress>
struct BasicTable : OwnCounters, NeighbourTable<std::uint64_t, IpAddress> {
    using Base = NeighbourTable<std::uint64_t, IpAddress>;
    explicit BasicTable(const typename Base::Config& config = {}) : Base(config, OwnCounters::counters) {}
};
using Table = BasicTable<wire::Ipv4Address>;

NeighbourKey key(unsigned n) {
    return {InterfaceId{static_cast<std::uint16_t>(n % 7)}, wire::Ipv4Address{0x0a00'0000 + n}};
}

/// As many keys of the other family, which differ where addresses of hosts do.
Ipv6NeighbourKey ipv6_key(unsigned n) {
    Ipv6NeighbourKey out{InterfaceId{static_cast<std::uint16_t>(n % 7)}, {}};
    out.address.bytes[7] = static_cast<std::byte>(n % 3);
    out.address.bytes[15] = static_cast<std::byte>(n);
    return out;
}

rte_mbuf* packet() {
    return test::make_packet(test::pattern(20)).release();
}
void free_all(std::span<rte_mbuf*> packets) {
    for (auto* p : packets) rte_pktmbuf_free(p);
}

TEST(NeighbourTable, ResolvesAndHandsOverWhatWaited) {
    Table table;
    std::array<rte_mbuf*, 2> packets{packet(), packet()};
    EXPECT_EQ(table.state(key(1)), ResolutionState::none);
    EXPECT_EQ(table.enqueue(key(1), packets[0], 0), Enqueued::first);
    EXPECT_EQ(table.enqueue(key(1), packets[1], 0), Enqueued::waits);
    EXPECT_EQ(table.state(key(1)), ResolutionState::pending);
    EXPECT_EQ(table.lookup(key(1)), nullptr);

    auto set = table.set(key(1), 77);
    EXPECT_TRUE(set.stored);
    EXPECT_TRUE(std::ranges::equal(set.waited.span(), packets)) << "oldest first";
    free_all(set.waited.span());
    ASSERT_NE(table.lookup(key(1)), nullptr);
    EXPECT_EQ(*table.lookup(key(1)), 77u);
    EXPECT_EQ(table.state(key(1)), ResolutionState::resolved);
    EXPECT_FALSE(table.deadline());

    EXPECT_EQ(table.set(key(1), 78).waited.size, 0u);
    EXPECT_EQ(*table.lookup(key(1)), 78u);
}

TEST(NeighbourTable, TellsInterfacesApart) {
    Table table;
    const NeighbourKey here{InterfaceId{0}, wire::ipv4(10, 0, 0, 1)}, there{InterfaceId{1}, wire::ipv4(10, 0, 0, 1)};
    table.set(here, 1);
    EXPECT_EQ(table.lookup(there), nullptr);
}

TEST(NeighbourTable, FlowsThatMoveToANewNextHopWait) {
    Table table;
    constexpr std::size_t flows = 16, packets = 3;  // as many as each flow sends until the next hop has answered
    for (std::size_t i = 0; i < flows * packets; ++i) table.enqueue(key(1), packet(), 0);
    EXPECT_EQ(table.counters.dropped_wait_queue_full.value(), 0u);
    auto set = table.set(key(1), 77);
    EXPECT_EQ(set.waited.size, flows * packets);
    free_all(set.waited.span());
}

TEST(NeighbourTable, TheOldestGivesWay) {
    Table table;
    std::array<rte_mbuf*, Table::max_waiting + 2> packets;
    for (auto& p : packets) table.enqueue(key(1), p = packet(), 0);
    EXPECT_EQ(table.counters.dropped_wait_queue_full.value(), 2u);
    auto waited = table.fail(key(1));
    EXPECT_TRUE(std::ranges::equal(waited.span(), std::span(packets).last(Table::max_waiting)));
    free_all(waited.span());
    EXPECT_EQ(table.counters.neighbours_failed.value(), 1u);
    EXPECT_EQ(table.state(key(1)), ResolutionState::none);
}

TEST(NeighbourTable, TheOldestGivesWayWhereOthersHaveTheRoom) {
    Table table;
    constexpr auto beyond = Table::max_waiting - Table::assured_waiting;
    for (unsigned n = 0; n < Table::spare_waiting / beyond + 1; ++n)
        for (std::size_t i = 0; i < Table::max_waiting; ++i) table.enqueue(key(100 + n), packet(), 0);
    std::array<rte_mbuf*, Table::max_waiting + 5> packets;  // more than once around
    for (auto& p : packets) table.enqueue(key(1), p = packet(), 0);
    auto waited = table.fail(key(1));
    EXPECT_TRUE(std::ranges::equal(waited.span(), std::span(packets).last(Table::assured_waiting)));
    free_all(waited.span());
}

TEST(NeighbourTable, AFewPacketsWaitForEachWhateverOthersHave) {
    Table table;
    const auto waits = [&](unsigned n, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) table.enqueue(key(n), packet(), 0);
    };
    constexpr auto beyond = Table::max_waiting - Table::assured_waiting;
    constexpr unsigned greedy = Table::spare_waiting / beyond;
    for (unsigned n = 0; n < greedy; ++n) waits(n, Table::max_waiting);
    EXPECT_EQ(table.counters.dropped_wait_queue_full.value(), 0u);
    constexpr auto rest = Table::spare_waiting % beyond;
    waits(greedy, Table::assured_waiting + rest + 1);
    EXPECT_EQ(table.counters.dropped_wait_queue_full.value(), 1u);
    waits(greedy + 1, Table::assured_waiting);
    EXPECT_EQ(table.counters.dropped_wait_queue_full.value(), 1u);

    free_all(table.fail(key(0)).span());  // its room is the others'
    waits(greedy + 1, beyond);
    EXPECT_EQ(table.counters.dropped_wait_queue_full.value(), 1u);
    auto set = table.set(key(greedy + 1), 7);
    EXPECT_EQ(set.waited.size, Table::max_waiting);
    free_all(set.waited.span());
    table.remove(key(1));
    EXPECT_EQ(table.counters.dropped_neighbour_removed.value(), Table::max_waiting);
}

TEST(NeighbourTable, FailureDoesNotTouchTheResolved) {
    Table table;
    table.set(key(1), 5);
    EXPECT_EQ(table.fail(key(1)).size, 0u);
    EXPECT_NE(table.lookup(key(1)), nullptr);
}

TEST(NeighbourTable, RemovesWithWhatWaits) {
    Table table;
    table.enqueue(key(1), packet(), 0);
    table.set(key(2), 5);
    table.remove(key(1));
    table.remove(key(2));
    table.remove(key(3));
    EXPECT_EQ(table.size(), 0u);
    EXPECT_EQ(table.pending(), 0u);
    EXPECT_EQ(table.counters.dropped_neighbour_removed.value(), 1u);
}

TEST(NeighbourTable, GivesUpInTime) {
    Table table({.timeout = 3 * second});
    table.enqueue(key(1), packet(), 0);
    table.enqueue(key(2), packet(), 1 * second);
    table.enqueue(key(1), packet(), 2 * second);  // does not prolong
    EXPECT_EQ(table.deadline(), 3 * second);
    std::vector<std::pair<NeighbourKey, std::size_t>> failed;
    const auto note = [&](const NeighbourKey& k, auto waiting) {
        failed.emplace_back(k, waiting.size);
        free_all(waiting.span());
    };
    table.expire(3 * second - 1, note);
    EXPECT_TRUE(failed.empty());
    table.expire(3 * second, note);
    table.expire(3 * second, note);
    const decltype(failed) want{{key(1), 2}};
    EXPECT_EQ(failed, want);
    table.expire(4 * second, note);
    EXPECT_EQ(failed.size(), 2u);
    EXPECT_EQ(table.size(), 0u);
}

TEST(NeighbourTable, IsBounded) {
    Table table({.capacity = 8, .max_pending = 3});
    for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(table.enqueue(key(i), packet(), 0), Enqueued::first);
    EXPECT_EQ(table.enqueue(key(3), packet(), 0), Enqueued::refused) << "as many pending as there may be";
    for (unsigned i = 3; i < 8; ++i) EXPECT_TRUE(table.set(key(i), i).stored);
    EXPECT_FALSE(table.set(key(8), 8).stored);
    EXPECT_EQ(table.size(), 8u);
    EXPECT_EQ(table.counters.dropped_too_many_unresolved.value(), 1u);
    EXPECT_EQ(table.counters.neighbours_refused.value(), 1u);
    for (unsigned i = 0; i < 3; ++i) {
        auto set = table.set(key(i), i);
        free_all(set.waited.span());
    }
    EXPECT_EQ(table.enqueue(key(8), packet(), 0), Enqueued::refused) << "as many neighbours as there may be";
    EXPECT_EQ(table.counters.dropped_neighbours_full.value(), 1u);
    table.remove(key(3));
    EXPECT_TRUE(table.set(key(8), 8).stored);
    EXPECT_EQ(*table.lookup(key(8)), 8u);
}

TEST(NeighbourTable, FindsByEntryNumberWhatIsStillThere) {
    Table table;
    auto entry = Table::no_entry;
    const auto lookup = [&](const NeighbourKey& wanted) {
        const Table::HintedKey keyed{wanted, &entry};
        table.prefetch(wanted);
        const auto* const hinted = table.hinted(keyed);
        const auto* const found = table.lookup_by_index(keyed);
        EXPECT_TRUE(hinted == nullptr || hinted == found);
        EXPECT_EQ(table.hinted(keyed), found) << "corrected";
        return found;
    };
    EXPECT_EQ(lookup(key(1)), nullptr);
    EXPECT_EQ(entry, Table::no_entry);
    table.set(key(1), 11);
    ASSERT_NE(lookup(key(1)), nullptr);
    const auto first = entry;
    EXPECT_NE(first, Table::no_entry);
    table.set(key(1), 12);
    EXPECT_EQ(*lookup(key(1)), 12u) << "its new address";
    table.remove(key(1));
    EXPECT_EQ(lookup(key(1)), nullptr) << "the entry is nobody's";
    entry = first;
    table.set(key(2), 22);
    EXPECT_EQ(lookup(key(1)), nullptr) << "the entry is another's";
    entry = first;
    table.set(key(1), 13);
    EXPECT_EQ(*lookup(key(1)), 13u) << "in another entry";
    EXPECT_NE(entry, first);
}

template <class IpAddress>
void behaves_as_a_map(BasicNeighbourKey<IpAddress> (*key)(unsigned)) {
    using Key = BasicNeighbourKey<IpAddress>;
    for (unsigned seed = 0; seed < 20; ++seed) {
        std::mt19937 random(seed);
        BasicTable<IpAddress> table({.capacity = 64, .max_pending = 16, .seed = seed});
        std::map<Key, std::uint64_t> resolved;
        std::map<Key, std::deque<rte_mbuf*>> pending;
        std::array<typename BasicTable<IpAddress>::Number, 40> entries;
        entries.fill(BasicTable<IpAddress>::no_entry);
        for (int step = 0; step < 4000; ++step) {
            const auto k = key(static_cast<unsigned>(random() % 90));
            const auto expect_waited = [&](auto waited) {
                ASSERT_TRUE(std::ranges::equal(waited.span(), pending[k]));
                free_all(waited.span());
                pending.erase(k);
            };
            switch (random() % 5) {
                case 0:
                case 1: {
                    auto set = table.set(k, step);
                    const bool room =
                        resolved.contains(k) || pending.contains(k) || resolved.size() + pending.size() < 64;
                    ASSERT_EQ(set.stored, room);
                    expect_waited(set.waited);
                    if (room) resolved[k] = step;
                    break;
                }
                case 2:
                    table.remove(k);
                    resolved.erase(k), pending.erase(k);
                    break;
                case 3: expect_waited(table.fail(k)); break;
                default:
                    if (resolved.contains(k)) break;
                    auto* const p = packet();
                    const bool room = pending.size() < 16 && resolved.size() + pending.size() < 64;
                    const auto expected = pending.contains(k) ? Enqueued::waits
                                          : room              ? Enqueued::first
                                                              : Enqueued::refused;
                    ASSERT_EQ(table.enqueue(k, p, 0), expected);
                    if (expected == Enqueued::refused) break;
                    pending[k].push_back(p);
                    if (pending[k].size() > Table::max_waiting) pending[k].pop_front();
            }
            ASSERT_EQ(table.pending(), pending.size());
            if (step % 8 != 0) continue;
            // Some numbers serve one key, some two that take turns, some keys have none.
            for (unsigned i = 0; i < 90; ++i) {
                const typename BasicTable<IpAddress>::HintedKey keyed{key(i), i < 60 ? &entries[i % 40] : nullptr};
                const auto* const hinted = table.hinted(keyed);
                const auto* const address = table.lookup_by_index(keyed);
                ASSERT_TRUE(hinted == nullptr || hinted == address);
                const auto entry = resolved.find(keyed.key);
                ASSERT_EQ(address != nullptr, entry != resolved.end());
                if (address != nullptr) {
                    ASSERT_EQ(*address, entry->second);
                }
            }
        }
        EXPECT_EQ(table.size(), resolved.size() + pending.size());
    }
}

TEST(NeighbourTable, BehavesAsAMapThroughRandomChanges) {
    behaves_as_a_map(key);
    behaves_as_a_map(ipv6_key);
}

TEST(NeighbourTable, TellsIpv6InterfacesApart) {
    BasicTable<wire::Ipv6Address> table({.seed = 5});
    table.set({InterfaceId{0}, {}}, 1);
    EXPECT_EQ(table.lookup({InterfaceId{1}, {}}), nullptr);
    EXPECT_NE(table.lookup({InterfaceId{0}, {}}), nullptr);
}

}  // namespace
}  // namespace verbline::forward
