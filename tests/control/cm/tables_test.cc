// SPDX-License-Identifier: BSD-3-Clause
#include <map>
#include <memory>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "control/cm/id_table.h"
#include "control/cm/listeners.h"
#include "control/cm/remote_table.h"

namespace verbline::cm {
namespace {

using Table = IdTable<std::shared_ptr<std::uint32_t>>;

std::uint32_t insert(Table& table) {
    return *table.insert([](std::uint32_t id) { return std::make_shared<std::uint32_t>(id); });
}

TEST(IdTable, FindsWhatWasPutIn) {
    Table table(7);
    std::map<std::uint32_t, bool> present;
    std::mt19937 random(1);
    for (int i = 0; i < 50'000; ++i) {
        if (random() % 3 != 0 || present.empty()) {
            const auto id = insert(table);
            EXPECT_FALSE(present.contains(id));
            present[id] = true;
        } else {
            const auto it =
                std::next(present.begin(), static_cast<long>(random() % std::min<std::size_t>(9, present.size())));
            table.erase(it->first);
            EXPECT_EQ(table.find(it->first), nullptr);
            present.erase(it);
        }
    }
    EXPECT_EQ(table.size(), present.size());
    EXPECT_EQ(table.all().size(), present.size());
    for (const auto& [id, yes] : present) ASSERT_EQ(*table.find(id), id);
}

TEST(IdTable, NeverGivesOutZeroAndPassesOverWhatIsTaken) {
    Table table(0xffff'ffff);
    EXPECT_EQ(insert(table), 0xffff'ffff);
    EXPECT_EQ(insert(table), 1u);
    EXPECT_EQ(table.find(0), nullptr);
}

TEST(RemoteTable, IsAMapWhateverIsErased) {
    RemoteTable table(42);
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> model;
    std::mt19937 random(2);
    for (int i = 0; i < 100'000; ++i) {
        const std::uint64_t owner = random() % 8;
        const std::uint32_t number = random() % 100, id = random() % 5 + 1;
        const RemoteEnd end{.owner = owner, .number = number};
        const auto it = model.find({owner, number});
        const std::uint32_t has = it == model.end() ? 0 : it->second;
        ASSERT_EQ(table.find(end), has);
        switch (random() % 3) {
            case 0:
                ASSERT_EQ(table.insert(end, id), has == 0 ? id : has);
                model.try_emplace({owner, number}, id);
                break;
            case 1:
                table.erase(end, id);
                if (has == id) model.erase(it);
                break;
            default:
                ASSERT_EQ(table.replace(end, id, 9), has == id);
                if (has == id) it->second = 9;
        }
        ASSERT_EQ(table.size(), model.size());
    }
}

TEST(RemoteTable, TellsPortsOfOneOwnerApart) {
    RemoteTable table(1);
    const auto one = RemoteEnd::queue_pair(wire::Guid{1}, wire::Gid::of(1, wire::Guid{1}), wire::Qpn{1});
    const auto other = RemoteEnd::queue_pair(wire::Guid{1}, wire::Gid::of(1, wire::Guid{2}), wire::Qpn{1});
    EXPECT_EQ(table.insert(one, 1), 1u);
    EXPECT_EQ(table.insert(other, 2), 2u);
    EXPECT_EQ(table.find(one), 1u);
}

constexpr std::uint64_t exact = ~std::uint64_t{0};

TEST(Listeners, OfIdsAndOfRanges) {
    Listeners listeners;
    EXPECT_TRUE(listeners.insert(wire::CmServiceId{0x100}, exact, 1));
    EXPECT_TRUE(listeners.insert(wire::CmServiceId{0x200}, ~std::uint64_t{0xff}, 2));
    EXPECT_FALSE(listeners.insert(wire::CmServiceId{0x2ff}, exact, 3));
    EXPECT_FALSE(listeners.insert(wire::CmServiceId{0x100}, exact, 3));
    EXPECT_FALSE(listeners.insert(wire::CmServiceId{0x100}, ~std::uint64_t{0xff}, 3));
    EXPECT_EQ(listeners.find(wire::CmServiceId{0x100}), 1u);
    EXPECT_EQ(listeners.find(wire::CmServiceId{0x101}), 0u);
    EXPECT_EQ(listeners.find(wire::CmServiceId{0x2ff}), 2u);
    listeners.erase(wire::CmServiceId{0x200}, ~std::uint64_t{0xff}, 2);
    EXPECT_EQ(listeners.find(wire::CmServiceId{0x2ff}), 0u);
    EXPECT_TRUE(listeners.insert(wire::CmServiceId{0x2ff}, exact, 3));
}

}  // namespace
}  // namespace verbline::cm
