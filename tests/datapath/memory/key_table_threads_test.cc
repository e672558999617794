// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Poll cores look keys up and bind windows while the owner adds, changes, removes and reclaims. Every answer must be
/// one that was right at some moment of the call.

#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/memory/key_table.h"
#include "tests/datapath/memory/names.h"

namespace verbline::memory {
namespace {

/// A poll core as the owner's grace period sees it: it says how often it has been outside.
class PollCore {
public:
    template <class Step>
    explicit PollCore(Step step)
        : thread_([this, step](const std::stop_token& stop) mutable {
              while (!stop.stop_requested()) {
                  step();
                  rounds_.fetch_add(1, std::memory_order_release);
              }
              stopped_ = true;
          }) {}

    /// Waits until the poll core has once been outside of the table's calls.
    void wait_until_quiescent() const {
        const auto seen = rounds_.load(std::memory_order_acquire);
        while (rounds_.load(std::memory_order_acquire) == seen && !stopped_) std::this_thread::yield();
    }

private:
    std::atomic<std::uint64_t> rounds_{0};
    std::atomic<bool> stopped_{false};
    std::jthread thread_;
};

TEST(KeyTableThreads, LookupsWhileTheOwnerWorks) {
    KeyTable table;
    std::array<std::byte, 64> memory{};
    // This one is always there, at one of two places, each with a length of its own.
    const RegionAttributes one{pd, memory.data(), 16, 0x1000, all_rights},
        two{pd, memory.data() + 32, 32, 0x2000, all_rights};
    const auto lasting = table.add_region(one).value();
    std::atomic<std::uint32_t> recent{0};
    const auto look_up = [&] {
        for (unsigned i = 0; i < 32; ++i) {
            const auto first = table.resolve(lasting, pd, qpn, 0x1000, 16, Access::remote_read);
            const auto second = table.resolve(lasting, pd, qpn, 0x2000, 32, Access::remote_read);
            EXPECT_TRUE(first == memory.data() || first == std::unexpected(Fault::out_of_range));
            EXPECT_TRUE(second == memory.data() + 32 || second == std::unexpected(Fault::out_of_range));
            const auto any = table.resolve(wire::RKey{recent.load()}, pd, qpn, 0x1000, 16, Access::remote_read);
            EXPECT_TRUE(any == memory.data() || any == std::unexpected(Fault::unknown_key));
        }
    };
    const PollCore a(look_up), b(look_up);
    std::mt19937 random(1);
    std::vector<wire::RKey> keys;
    for (unsigned step = 0; step < 4000; ++step) {
        if (keys.size() < 10 || random() % 8 < 5) {
            keys.push_back(table.add_region(one).value());
            recent = static_cast<std::uint32_t>(keys[random() % keys.size()]);
        } else {
            ASSERT_TRUE(table.remove(keys.back()));
            keys.pop_back();
        }
        ASSERT_TRUE(table.change_region(lasting, step % 2 == 0 ? two : one));
        if (step % 256 != 0) continue;
        const auto retired = table.retired();
        a.wait_until_quiescent(), b.wait_until_quiescent();
        table.reclaim(retired);
    }
}

TEST(KeyTableThreads, AWindowIsNeverSeenHalfBound) {
    KeyTable table;
    std::array<std::byte, 256> memory{};
    const auto region = table.add_region({pd, memory.data(), memory.size(), 0, all_rights}).value();
    const auto window = table.add_window(pd, WindowType::type2b).value();
    // Bound to [n, n + n) under low byte n: a mixture of two bindings would show in the address or the length.
    const auto key_of = [window](std::uint32_t n) {
        return wire::RKey{(static_cast<std::uint32_t>(window) & ~0xffu) | n};
    };
    std::atomic<std::uint64_t> reached{0};
    const PollCore binder([&] {
        for (std::uint32_t n = 1; n <= 100; ++n) {
            const Binding binding{key_of(n), region, n, n, Access::remote_read, pd, qpn};
            EXPECT_TRUE(table.bind(window, binding));
            EXPECT_TRUE(table.invalidate(key_of(n), pd, qpn));
        }
    });
    const auto look_up = [&] {
        for (std::uint32_t n = 1; n <= 100; ++n) {
            const auto whole = table.resolve(key_of(n), pd, qpn, n, n, Access::remote_read);
            if (whole) {
                EXPECT_EQ(whole, memory.data() + n);
                reached.fetch_add(1, std::memory_order_relaxed);
            } else {
                EXPECT_TRUE(whole.error() == Fault::not_bound || whole.error() == Fault::unknown_key);
            }
            const auto beyond = table.resolve(key_of(n), pd, qpn, n, n + 1, Access::remote_read);
            EXPECT_FALSE(beyond);
        }
    };
    const PollCore a(look_up), b(look_up);
    for (unsigned round = 0; round < 50 || reached == 0; ++round) {
        a.wait_until_quiescent(), b.wait_until_quiescent();
        table.unbind_all(wire::Qpn{99});  // looks at the window and must leave it alone
    }
}

TEST(KeyTableThreads, BindsOfTwoPollCoresAndADyingWindow) {
    for (std::uint32_t round = 0; round < 300; ++round) {
        KeyTable table;
        std::array<std::byte, 64> memory{};
        const auto region = table.add_region({pd, memory.data(), memory.size(), 0, all_rights}).value();
        const auto window = table.add_window(pd, WindowType::type1).value();
        std::atomic<std::uint32_t> start{0};
        const auto binder = [&, low = 0u](unsigned first) mutable {
            start.fetch_add(1);
            for (low = first; low < 100; low += 2) {
                const wire::RKey key{(static_cast<std::uint32_t>(window) & ~0xffu) | low};
                (void)table.bind(window, {key, region, 0, 8, Access::remote_read, pd, qpn});
            }
        };
        {
            const std::jthread one(binder, 1), two(binder, 2);
            while (start < 2) std::this_thread::yield();
            ASSERT_TRUE(table.remove(window));
        }
        // However it went, no bind has outlived the window and kept the region.
        ASSERT_TRUE(table.remove(region)) << round;
    }
}

}  // namespace
}  // namespace verbline::memory
