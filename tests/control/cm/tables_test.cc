// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "control/cm/communication_id_table.h"
#include "control/cm/listeners.h"
#include "control/cm/member_ids.h"
#include "control/cm/remote_table.h"
#include "control/cm/zeroed_array.h"

namespace verbline::cm {
namespace {

struct Named : Counted {
    explicit Named(std::uint32_t n) : name(n) {}
    std::uint32_t name;
};
using Table = CommunicationIdTable<Named>;

std::uint32_t insert(Table& table) {
    return table.insert([](std::uint32_t id) { return Reference<Named>::make(id); })->name;
}

TEST(CommunicationIdTable, FindsWhatWasPutIn) {
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
            EXPECT_FALSE(table.find(it->first));
            present.erase(it);
        }
    }
    EXPECT_EQ(table.size(), present.size());
    EXPECT_EQ(table.all().size(), present.size());
    for (const auto& [id, yes] : present) ASSERT_EQ(table.find(id)->name, id);
}

TEST(CommunicationIdTable, NeverGivesOutZeroAndPassesOverWhatIsTaken) {
    Table table(0xffff'ffff);
    EXPECT_EQ(insert(table), 0xffff'ffff);
    EXPECT_EQ(insert(table), 1u);
    EXPECT_FALSE(table.find(0));
}

TEST(CommunicationIdTable, StaysInItsRange) {
    constexpr auto range = ids_of(link::MemberId{5});
    Table table(0xffff'fffe, range);
    EXPECT_EQ(insert(table), range.base | 0x3f'fffe);
    EXPECT_EQ(insert(table), range.base | 0x3f'ffff);
    EXPECT_EQ(insert(table), range.base) << "from its beginning";
    for (int i = 0; i < 1000; ++i) {
        const auto id = insert(table);
        EXPECT_EQ(member_of_id(id), link::MemberId{5});
        EXPECT_EQ(table.find(id)->name, id);
    }
}

TEST(CommunicationIdTable, GrowsWithoutLosingAny) {
    Table table(0xffff'f000);
    std::vector<std::uint32_t> ids;
    for (std::size_t count = 1; count <= 20'000; ++count) {
        ids.push_back(insert(table));
        if (count % 1000 != 0 && count > 200) continue;
        for (const auto id : ids) ASSERT_EQ(table.find(id)->name, id) << count;
    }
    EXPECT_EQ(table.all().size(), ids.size());
}

TEST(CommunicationIdTable, PrefetchesAValueWithoutAReference) {
    Table table(1);
    const auto id = insert(table);
    const Named* there = nullptr;
    const auto look = [&](const Named* at) { there = at; };
    table.prefetch(id);
    table.prefetch_value(id + 1, look);
    EXPECT_EQ(there, nullptr);
    table.prefetch_value(id, look);
    EXPECT_EQ(there, table.find(id).get());
    table.erase(id);
    unsigned calls = 0;
    for (const auto none : {id, 0u}) table.prefetch_value(none, [&](const Named*) { ++calls; });
    EXPECT_EQ(calls, 0u);
}

TEST(CommunicationIdTable, ItsValuesLiveAsLongAsTheyAreReferenced) {
    struct Watched : Counted {
        explicit Watched(bool& g) : gone(g) {}
        ~Watched() { gone = true; }
        bool& gone;
    };
    bool held = false, left = false;
    Reference<Watched> last;
    {
        CommunicationIdTable<Watched> table(1);
        last = table.insert([&](std::uint32_t) { return Reference<Watched>::make(held); });
        table.erase(1);
        EXPECT_FALSE(held) << "we hold it";
        table.insert([&](std::uint32_t) { return Reference<Watched>::make(left); });
        EXPECT_FALSE(left) << "the table holds it";
    }
    EXPECT_TRUE(left);
    EXPECT_TRUE(Reference<Watched>::unless_gone(*last));
    EXPECT_FALSE(held);
    last = {};
    EXPECT_TRUE(held);
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

/// What is erased and found while a part is moved from one array to the next.
TEST(RemoteTable, IsAMapWhileItGrows) {
    RemoteTable table(3);
    std::map<std::uint32_t, std::uint32_t> model;
    std::mt19937 random(4);
    const auto end = [](std::uint32_t n) { return RemoteEnd{.owner = 5, .number = n}; };
    for (std::uint32_t n = 0; n < 30'000; ++n) {
        table.prefetch(end(n));
        ASSERT_EQ(table.insert(end(n), n + 1), n + 1);
        model[n] = n + 1;
        const auto other = static_cast<std::uint32_t>(random() % (n + 1));
        const auto it = model.find(other);
        ASSERT_EQ(table.find(end(other)), it == model.end() ? 0 : it->second);
        if (it == model.end()) continue;
        if (random() % 2 == 0) {
            ASSERT_TRUE(table.replace(end(other), it->second, it->second + 1));
            ++it->second;
        } else if (random() % 4 == 0) {
            table.erase(end(other), it->second);
            model.erase(it);
        }
        ASSERT_EQ(table.size(), model.size());
    }
    for (std::uint32_t n = 0; n < 30'000; ++n) {
        const auto it = model.find(n);
        ASSERT_EQ(table.find(end(n)), it == model.end() ? 0 : it->second) << n;
    }
}

TEST(ZeroedArray, IsZeroAndWritableWhateverItsSize) {
    for (const std::size_t size : {1uz, 100uz, 100'000uz, 3'000'000uz}) {
        ZeroedArray<std::uint32_t> array(size);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % 64, 0u);
        for (const auto i : std::set{0uz, size / 2, size - 1}) {
            EXPECT_EQ(array[i], 0u) << size;
            array[i] = 1;
        }
        array = {};
        EXPECT_EQ(array.size(), 0u);
    }
}

TEST(RemoteTable, DistinguishesPortsOfOneOwner) {
    RemoteTable table(1);
    const auto one = RemoteEnd::queue_pair(wire::Guid{1}, wire::Gid::of(1, wire::Guid{1}), wire::Qpn{1});
    const auto other = RemoteEnd::queue_pair(wire::Guid{1}, wire::Gid::of(1, wire::Guid{2}), wire::Qpn{1});
    EXPECT_EQ(table.insert(one, 1), 1u);
    EXPECT_EQ(table.insert(other, 2), 2u);
    EXPECT_EQ(table.find(one), 1u);
}

constexpr std::uint64_t whole_id = ~std::uint64_t{0};

TEST(Listeners, OfIdsAndOfRanges) {
    Listeners listeners;
    EXPECT_TRUE(listeners.insert(wire::CmServiceId{0x100}, whole_id, 1));
    EXPECT_TRUE(listeners.insert(wire::CmServiceId{0x200}, ~std::uint64_t{0xff}, 2));
    EXPECT_FALSE(listeners.insert(wire::CmServiceId{0x2ff}, whole_id, 3));
    EXPECT_FALSE(listeners.insert(wire::CmServiceId{0x100}, whole_id, 3));
    EXPECT_FALSE(listeners.insert(wire::CmServiceId{0x100}, ~std::uint64_t{0xff}, 3));
    EXPECT_EQ(listeners.find(wire::CmServiceId{0x100}), 1u);
    EXPECT_EQ(listeners.find(wire::CmServiceId{0x101}), 0u);
    EXPECT_EQ(listeners.find(wire::CmServiceId{0x2ff}), 2u);
    listeners.erase(wire::CmServiceId{0x200}, ~std::uint64_t{0xff}, 2);
    EXPECT_EQ(listeners.find(wire::CmServiceId{0x2ff}), 0u);
    EXPECT_TRUE(listeners.insert(wire::CmServiceId{0x2ff}, whole_id, 3));
}

}  // namespace
}  // namespace verbline::cm
