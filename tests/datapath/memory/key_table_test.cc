// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/memory/key_table.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/datapath/memory/names.h"

namespace verbline::memory {
namespace {

constexpr PdId other_pd{2};
constexpr wire::Qpn other_qpn{0x12};

KeySource seeded(std::uint32_t seed) {
    return [random = std::mt19937(seed)]() mutable -> Result<std::uint32_t> {
        return static_cast<std::uint32_t>(random());
    };
}

constexpr std::uint32_t number(wire::RKey key) {
    return static_cast<std::uint32_t>(key);
}

constexpr auto refused(Fault why) {
    return std::unexpected(why);
}

template <class T>
int code(const Result<T>& result) {
    return result ? 0 : result.error().code;
}

class KeyTableTest : public testing::Test {
protected:
    KeyTable table{seeded(7)};
    std::array<std::byte, 256> memory{};

    RegionAttributes attributes(Access rights = all_rights) {
        return {pd, memory.data(), memory.size(), 0x1000, rights};
    }
    wire::RKey region(Access rights = all_rights) { return table.add_region(attributes(rights)).value(); }
    auto read(wire::RKey key, std::uint64_t address = 0x1000, std::uint64_t size = 1, PdId of = pd,
              wire::Qpn by = qpn) const {
        return table.resolve(key, of, by, address, size, Access::remote_read);
    }
    /// 16 bytes at 0x1010 of the region, by the queue pair `qpn`.
    static Binding binding(wire::RKey window, wire::RKey region) {
        return {next_key(window), region, 0x1010, 16, Access::remote_read | Access::remote_write, pd, qpn};
    }
    wire::RKey bound(WindowType type, wire::RKey region) {
        const auto window = table.add_window(pd, type).value();
        return table.bind(window, binding(window, region)).value();
    }
};

TEST_F(KeyTableTest, ARegionIsReachedByItsKeyUntilItIsRemoved) {
    const auto key = region();
    EXPECT_EQ(read(key, 0x1003, 253), memory.data() + 3);
    EXPECT_EQ(read(key, 0x1003, 254), refused(Fault::out_of_range));
    EXPECT_EQ(read(key, 0x1000, 1, other_pd), refused(Fault::wrong_pd));
    EXPECT_EQ(read(wire::RKey{number(key) ^ 1}), refused(Fault::unknown_key));
    EXPECT_EQ(read(wire::RKey{number(key) ^ 0x100}), refused(Fault::unknown_key));
    EXPECT_EQ(table.size(), 1u);
    EXPECT_TRUE(table.remove(key));
    EXPECT_EQ(read(key), refused(Fault::unknown_key));
    EXPECT_EQ(code(table.remove(key)), EINVAL);
    EXPECT_EQ(table.size(), 0u);
}

TEST_F(KeyTableTest, RightsAreThoseOfTheRegistration) {
    const auto key = region(Access::local_write | Access::remote_read);
    const auto may = [&](Access needed) { return table.resolve(key, pd, qpn, 0x1000, 8, needed).has_value(); };
    EXPECT_TRUE(may(Access::none));
    EXPECT_TRUE(may(Access::local_write));
    EXPECT_TRUE(may(Access::remote_read));
    EXPECT_FALSE(may(Access::remote_write));
    EXPECT_FALSE(may(Access::remote_atomic));
    EXPECT_FALSE(may(Access::flush_global));
}

TEST_F(KeyTableTest, RegistrationsThatMakeNoSenseAreRefused) {
    EXPECT_EQ(code(table.add_region(attributes(Access::remote_write))), EINVAL);
    EXPECT_EQ(code(table.add_region(attributes(Access::remote_atomic))), EINVAL);
    EXPECT_EQ(code(table.add_region(attributes(Access{1u << 15}))), EOPNOTSUPP);
    EXPECT_EQ(code(table.add_region(attributes(Access{1u << 31}))), EOPNOTSUPP);
    EXPECT_EQ(code(table.add_region(attributes(Access{1u << 30}))), EOPNOTSUPP);
    EXPECT_EQ(code(table.add_region(attributes(Access{1u << 29}))), 0);  // optional
    EXPECT_EQ(code(table.add_region({any_pd, memory.data(), 1, 0, Access::none})), EINVAL);
    EXPECT_EQ(code(table.add_region({pd, memory.data(), last, 0, Access::none})), EINVAL);
    EXPECT_EQ(code(table.add_region({pd, memory.data(), 16, last - 14, Access::none})), EINVAL);
    EXPECT_EQ(code(table.add_region({pd, memory.data(), 16, last - 16, Access::none})), 0);
    EXPECT_EQ(code(table.add_region({pd, nullptr, last, 0, Access::on_demand})), 0);  // all of memory
}

TEST_F(KeyTableTest, ZeroBasedRegionsCountFromZero) {
    const auto key = region(all_rights | Access::zero_based);
    EXPECT_EQ(read(key, 0, 256), memory.data());
    EXPECT_EQ(read(key, 0x1000), refused(Fault::out_of_range));
}

TEST_F(KeyTableTest, NoMemoryIsARegionToo) {
    const auto key = table.add_region({pd, memory.data(), 0, 0x1000, all_rights}).value();
    EXPECT_EQ(read(key, 0x1000, 0), memory.data());
    EXPECT_EQ(read(key, 0x1000, 1), refused(Fault::out_of_range));
    EXPECT_EQ(read(key, 0x1001, 0), refused(Fault::out_of_range));
}

TEST_F(KeyTableTest, ReregistrationKeepsTheKeyAndChangesTheRest) {
    const auto key = region();
    ASSERT_TRUE(table.change_region(key, {other_pd, memory.data() + 64, 8, 0x9000, Access::remote_read}));
    EXPECT_EQ(read(key), refused(Fault::wrong_pd));
    EXPECT_EQ(read(key, 0x9000, 8, other_pd), memory.data() + 64);
    EXPECT_EQ(read(key, 0x9000, 9, other_pd), refused(Fault::out_of_range));
    EXPECT_EQ(table.resolve(key, other_pd, qpn, 0x9000, 8, Access::local_write), refused(Fault::no_right));
    EXPECT_EQ(table.size(), 1u);
    EXPECT_EQ(code(table.change_region(wire::RKey{number(key) ^ 0x100}, attributes())), EINVAL);
}

TEST_F(KeyTableTest, AReregistrationThatFailsChangesNothing) {
    const auto key = region();
    EXPECT_EQ(code(table.change_region(key, attributes(Access::remote_write))), EINVAL);
    const auto window = bound(WindowType::type2b, key);
    EXPECT_EQ(code(table.change_region(key, attributes(Access::none))), EBUSY);
    EXPECT_TRUE(read(key));
    ASSERT_TRUE(table.invalidate(window, pd, qpn));
    EXPECT_TRUE(table.change_region(key, attributes(Access::none)));
    EXPECT_EQ(read(key), refused(Fault::no_right));
}

TEST_F(KeyTableTest, Type1IsOpenToItsProtectionDomain) {
    const auto key = region();
    const auto window = table.add_window(pd, WindowType::type1).value();
    EXPECT_EQ(read(window, 0x1010), refused(Fault::not_bound));
    const auto first = table.bind(window, binding(window, key)).value();
    EXPECT_EQ(first, next_key(window));
    EXPECT_EQ(read(first, 0x1010, 16), memory.data() + 0x10);
    EXPECT_EQ(read(first, 0x1010, 16, pd, other_qpn), memory.data() + 0x10);
    EXPECT_EQ(read(first, 0x1010, 16, other_pd), refused(Fault::wrong_pd));
    EXPECT_EQ(read(first, 0x100f, 2), refused(Fault::out_of_range));
    EXPECT_EQ(read(first, 0x1010, 17), refused(Fault::out_of_range));
    EXPECT_EQ(read(window, 0x1010), refused(Fault::unknown_key));
    // Bound anew: the new key alone is good.
    auto again = binding(first, key);
    again.address = 0x1020;
    const auto second = table.bind(first, again).value();
    EXPECT_EQ(read(first, 0x1010), refused(Fault::unknown_key));
    EXPECT_EQ(read(second, 0x1020, 16), memory.data() + 0x20);
    EXPECT_EQ(
        table.bind(second, {.new_key = second, .region = key, .address = 0x1000, .length = 1, .pd = pd, .qpn = qpn}),
        refused(Fault::still_bound));
    // Zero length unbinds, and only then may the region go.
    EXPECT_EQ(code(table.remove(key)), EBUSY);
    const auto third = table.bind(second, {.new_key = next_key(second), .pd = pd, .qpn = qpn}).value();
    EXPECT_EQ(read(third, 0x1020), refused(Fault::not_bound));
    EXPECT_TRUE(table.remove(key));
}

TEST_F(KeyTableTest, Type2BIsOpenToTheQueuePairThatBoundIt) {
    const auto window = bound(WindowType::type2b, region());
    EXPECT_EQ(read(window, 0x1010, 16), memory.data() + 0x10);
    EXPECT_EQ(read(window, 0x1010, 16, pd, other_qpn), refused(Fault::wrong_qp));
    EXPECT_EQ(read(window, 0x1010, 16, other_pd), refused(Fault::wrong_pd));
}

TEST_F(KeyTableTest, Type2AIsOpenToThatQueuePairInAnyProtectionDomain) {
    const auto window = bound(WindowType::type2a, region());
    EXPECT_EQ(read(window, 0x1010, 16, pd), memory.data() + 0x10);
    EXPECT_EQ(read(window, 0x1010, 16, other_pd), memory.data() + 0x10);
    EXPECT_EQ(read(window, 0x1010, 16, pd, other_qpn), refused(Fault::wrong_qp));
    EXPECT_EQ(table.invalidate(window, pd, other_qpn), refused(Fault::wrong_qp));
    EXPECT_TRUE(table.invalidate(window, pd, qpn));
}

TEST_F(KeyTableTest, Type2MustBeInvalidatedBeforeItIsBoundAgain) {
    const auto key = region();
    const auto window = bound(WindowType::type2b, key);
    EXPECT_EQ(table.bind(window, binding(window, key)), refused(Fault::still_bound));
    EXPECT_EQ(table.invalidate(window, pd, other_qpn), refused(Fault::wrong_qp));
    EXPECT_EQ(table.invalidate(window, other_pd, qpn), refused(Fault::wrong_pd));
    EXPECT_EQ(table.invalidate(next_key(window), pd, qpn), refused(Fault::unknown_key));
    EXPECT_TRUE(read(window, 0x1010));
    EXPECT_TRUE(table.invalidate(window, pd, qpn));
    EXPECT_EQ(read(window, 0x1010), refused(Fault::not_bound));
    EXPECT_EQ(table.invalidate(window, pd, qpn), refused(Fault::not_bound));
    const auto again = table.bind(window, binding(window, key));
    EXPECT_EQ(again, next_key(window));
    EXPECT_TRUE(read(*again, 0x1010));
}

TEST_F(KeyTableTest, OnlyType2IsInvalidated) {
    const auto key = region();
    EXPECT_EQ(table.invalidate(key, pd, qpn), refused(Fault::not_a_window));
    EXPECT_EQ(table.invalidate(bound(WindowType::type1, key), pd, qpn), refused(Fault::not_a_window));
    EXPECT_EQ(table.invalidate(wire::RKey{number(key) ^ 0x100}, pd, qpn), refused(Fault::unknown_key));
    EXPECT_TRUE(read(key));
}

/// What of a good bind is changed, and what it is refused for.
TEST_F(KeyTableTest, BindsAreCheckedAgainstTheRegion) {
    const auto key = region();
    const auto no_binds = region(Access::local_write | Access::remote_write), not_writable = region(Access::mw_bind);
    const auto elsewhere = table.add_region({other_pd, memory.data(), 256, 0x1000, all_rights}).value();
    for (const auto type : {WindowType::type1, WindowType::type2a, WindowType::type2b}) {
        const auto window = table.add_window(pd, type).value();
        const auto fault = [&](auto change, wire::RKey name) -> std::expected<wire::RKey, Fault> {
            auto wrong = binding(window, key);
            change(wrong);
            return table.bind(name, wrong);
        };
        EXPECT_EQ(fault([](Binding& b) { b.pd = other_pd; }, window), refused(Fault::wrong_pd));
        EXPECT_EQ(fault([&](Binding& b) { b.region = elsewhere; }, window), refused(Fault::wrong_pd));
        EXPECT_EQ(fault([&](Binding& b) { b.region = no_binds; }, window), refused(Fault::no_right));
        EXPECT_EQ(fault([&](Binding& b) { b.region = not_writable; }, window), refused(Fault::no_right));
        EXPECT_EQ(fault([&](Binding& b) { b.region = window; }, window), refused(Fault::unknown_key));
        EXPECT_EQ(fault([&](Binding& b) { b.region = wire::RKey{number(key) ^ 1}; }, window),
                  refused(Fault::unknown_key));
        EXPECT_EQ(fault([](Binding& b) { b.address = 0xfff; }, window), refused(Fault::out_of_range));
        EXPECT_EQ(fault([](Binding& b) { b.length = 0xf1; }, window), refused(Fault::out_of_range));
        EXPECT_EQ(fault([](Binding& b) { b.length = last; }, window), refused(Fault::out_of_range));
        EXPECT_EQ(fault([](Binding& b) { b.new_key = wire::RKey{number(b.new_key) ^ 0x100}; }, window),
                  refused(Fault::unknown_key));
        EXPECT_EQ(table.bind(key, binding(key, key)), refused(Fault::not_a_window));
        // Reading through the window needs no right of the region but to bind.
        EXPECT_TRUE(fault([&](Binding& b) { b.region = not_writable, b.rights = Access::remote_read; }, window));
    }
    // None of the binds refused has kept hold of its region.
    EXPECT_TRUE(table.remove(key));
    EXPECT_TRUE(table.remove(no_binds));
    EXPECT_TRUE(table.remove(elsewhere));
    EXPECT_EQ(code(table.remove(not_writable)), EBUSY);
}

TEST_F(KeyTableTest, AWindowGrantsWhatItWasBoundFor) {
    const auto key = region();
    const auto window = table.add_window(pd, WindowType::type2b).value();
    auto binds = binding(window, key);
    binds.rights = Access::remote_read | Access::local_write | Access::mw_bind;
    const auto bound_key = table.bind(window, binds).value();
    EXPECT_TRUE(read(bound_key, 0x1010));
    for (const auto needed : {Access::remote_write, Access::remote_atomic, Access::local_write, Access::none})
        EXPECT_EQ(table.resolve(bound_key, pd, qpn, 0x1010, 1, needed), refused(Fault::no_right));
}

TEST_F(KeyTableTest, ZeroBasedWindowsCountFromZero) {
    const auto key = region();
    const auto window = table.add_window(pd, WindowType::type2b).value();
    auto binds = binding(window, key);
    binds.rights = Access::remote_read | Access::zero_based;
    const auto bound_key = table.bind(window, binds).value();
    EXPECT_EQ(read(bound_key, 0, 16), memory.data() + 0x10);
    EXPECT_EQ(read(bound_key, 1, 16), refused(Fault::out_of_range));
    const auto type1 = table.add_window(pd, WindowType::type1).value();
    binds.new_key = next_key(type1);
    EXPECT_EQ(table.bind(type1, binds), refused(Fault::no_right));
    binds.new_key = next_key(window), binds.length = 0;
    EXPECT_EQ(table.bind(window, binds), refused(Fault::still_bound));
    ASSERT_TRUE(table.invalidate(bound_key, pd, qpn));
    EXPECT_EQ(table.bind(window, binds), refused(Fault::out_of_range));
}

TEST_F(KeyTableTest, AWindowIsRemovedBoundOrNot) {
    const auto key = region();
    const auto window = bound(WindowType::type2b, key);
    EXPECT_EQ(code(table.remove(key)), EBUSY);
    EXPECT_TRUE(table.remove(window));
    EXPECT_EQ(read(window, 0x1010), refused(Fault::unknown_key));
    EXPECT_EQ(table.bind(window, binding(window, key)), refused(Fault::unknown_key));
    EXPECT_TRUE(table.remove(table.add_window(pd, WindowType::type1).value()));
    EXPECT_TRUE(table.remove(key));
}

TEST_F(KeyTableTest, ARegionIsRevokedFromItsWindows) {
    const auto key = region(), other = region();
    const auto type1 = bound(WindowType::type1, key), type2 = bound(WindowType::type2b, key),
               kept = bound(WindowType::type1, other);
    EXPECT_EQ(code(table.remove(key)), EBUSY);
    EXPECT_TRUE(table.revoke(key));
    EXPECT_EQ(read(key), refused(Fault::unknown_key));
    EXPECT_EQ(read(type1, 0x1010), refused(Fault::not_bound));
    EXPECT_EQ(read(type2, 0x1010), refused(Fault::not_bound));
    EXPECT_TRUE(read(kept, 0x1010)) << "another region's";
    EXPECT_TRUE(table.bind(type2, binding(type2, other)));
    EXPECT_EQ(code(table.revoke(key)), EINVAL);
    EXPECT_TRUE(table.revoke(kept)) << "a window, as by `remove`";
}

TEST_F(KeyTableTest, WithItsQueuePairABindingGoes) {
    const auto key = region();
    const auto type2 = bound(WindowType::type2b, key), type2a = bound(WindowType::type2a, key),
               type1 = bound(WindowType::type1, key);
    table.unbind_all(other_qpn);
    EXPECT_TRUE(read(type2, 0x1010));
    table.unbind_all(qpn);
    EXPECT_EQ(read(type2, 0x1010), refused(Fault::not_bound));
    EXPECT_EQ(read(type2a, 0x1010), refused(Fault::not_bound));
    EXPECT_TRUE(read(type1, 0x1010));
    EXPECT_TRUE(table.remove(type1));
    EXPECT_TRUE(table.remove(key));
}

TEST_F(KeyTableTest, ManyKeysComeAndGo) {
    std::mt19937 random(3);
    std::vector<wire::RKey> keys, gone;
    for (unsigned step = 0; step < 40'000; ++step) {
        if (keys.empty() || random() % 5 < 3) {
            keys.push_back(region());
        } else {
            std::swap(keys[random() % keys.size()], keys.back());
            ASSERT_TRUE(table.remove(keys.back()));
            gone.push_back(keys.back());
            keys.pop_back();
        }
    }
    EXPECT_EQ(table.size(), keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_TRUE(read(keys[i])) << i;
    std::ranges::sort(keys);
    for (const auto key : gone) ASSERT_EQ(read(key).has_value(), std::ranges::binary_search(keys, key));
}

TEST_F(KeyTableTest, WhatIsReplacedStaysUntilReclaimed) {
    EXPECT_EQ(table.retired(), 0u);
    const auto key = region();
    ASSERT_TRUE(table.change_region(key, attributes()));
    EXPECT_EQ(table.retired(), 1u);
    const auto before = table.retired();
    ASSERT_TRUE(table.remove(key));
    table.reclaim(before);  // what came later is kept; the address sanitizer sees to the rest
    EXPECT_EQ(table.retired(), 2u);
    for (unsigned i = 0; i < 100; ++i) region();
    EXPECT_GT(table.retired(), 2u);  // it has grown
    table.reclaim(table.retired());
    table.reclaim(table.retired());
}

TEST_F(KeyTableTest, NoKeyIsDrawnTwice) {
    KeyTable narrow([n = 0u]() mutable -> Result<std::uint32_t> { return n++ / 16 << 8; });
    const auto first = narrow.add_region(attributes()).value(), second = narrow.add_region(attributes()).value();
    EXPECT_EQ(number(first), 0x100u);  // none has index 0
    EXPECT_EQ(number(second), 0x200u);
    KeyTable stuck([]() -> Result<std::uint32_t> { return 0x4200u; });
    EXPECT_TRUE(stuck.add_region(attributes()));
    EXPECT_EQ(code(stuck.add_region(attributes())), EIO);
    KeyTable broken([]() -> Result<std::uint32_t> { return failure(ENOSYS, "none"); });
    EXPECT_EQ(code(broken.add_region(attributes())), ENOSYS);
}

TEST_F(KeyTableTest, KeysThatCollideAreKeptApart) {
    // The same low bits of the index, hence the same slot, whatever the size of the table.
    KeyTable crowded([n = 0u]() mutable -> Result<std::uint32_t> { return (++n << 16 | 7) << 8; });
    std::vector<wire::RKey> keys;
    for (unsigned i = 0; i < 60; ++i)
        keys.push_back(crowded.add_region({pd, memory.data() + i, 1, 0, all_rights}).value());
    for (unsigned i = 0; i < 60; i += 2) ASSERT_TRUE(crowded.remove(keys[i]));
    for (unsigned i = 0; i < 60; ++i) {
        const auto found = crowded.resolve(keys[i], pd, qpn, 0, 1, Access::remote_read);
        EXPECT_EQ(found.has_value(), i % 2 == 1) << i;
        EXPECT_EQ(found.value_or(memory.data() + i), memory.data() + i);
    }
    // The index that tombstones stand under is nobody's.
    for (const std::uint32_t low : {0u, 1u, 255u}) {
        EXPECT_EQ(crowded.resolve(wire::RKey{low}, pd, qpn, 0, 0, Access::none), refused(Fault::unknown_key));
        EXPECT_EQ(crowded.invalidate(wire::RKey{low}, pd, qpn), refused(Fault::unknown_key));
        EXPECT_EQ(code(crowded.remove(wire::RKey{low})), EINVAL);
    }
}

TEST(KeyTableKeys, AreNotToBeGuessedFromOthers) {
    KeyTable table;
    std::array<std::byte, 8> memory{};
    std::vector<std::uint32_t> keys;
    for (unsigned i = 0; i < 2000; ++i)
        keys.push_back(number(table.add_region({pd, memory.data(), 8, 0, all_rights}).value()));
    // Neither the next number, nor the next step, nor the next line through two. By chance one of 8,000 guesses hits
    // one of 2,000 keys in four runs of a thousand, and three do in one of a hundred million.
    unsigned hits = 0;
    for (std::size_t i = 2; i < keys.size(); ++i) {
        const auto step = keys[i - 1] - keys[i - 2];
        for (const auto guess : {keys[i - 1] + 1, keys[i - 1] + 0x100, keys[i - 1] + step, keys[i - 1] ^ keys[i - 2]})
            hits += table.resolve(wire::RKey{guess}, pd, qpn, 0, 1, Access::remote_read).has_value();
    }
    EXPECT_LE(hits, 2u);
    std::array<int, 32> set{};
    for (const auto key : keys)
        for (unsigned bit = 0; bit < 32; ++bit) set[bit] += static_cast<int>(key >> bit & 1);
    for (const auto count : set) EXPECT_NEAR(count, 1000, 140);  // six sigma
}

}  // namespace
}  // namespace verbline::memory
