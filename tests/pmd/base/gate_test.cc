// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/base/gate.h"

#include <atomic>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

namespace verbline::pmd {
namespace {

/// Says when it is destroyed, and by its value whether it is used after that.
struct Object {
    explicit Object(std::atomic<int>& living) : living_(living) { ++living_; }
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    ~Object() {
        value = 0;
        --living_;
    }
    std::atomic<int> value{1};

private:
    std::atomic<int>& living_;
};

TEST(GateTest, EmptyGateAnswersOtherwise) {
    Gate<int> gate(1);
    EXPECT_EQ(gate.with(0, 7, [](int& value) { return value; }), 7);
    EXPECT_EQ(gate.set(std::make_unique<int>(3)), nullptr);
    EXPECT_EQ(gate.with(0, 7, [](int& value) { return value; }), 3);
    EXPECT_EQ(*gate.set(nullptr), 3);
    EXPECT_EQ(gate.get(), nullptr);
}

TEST(GateTest, ReplacementLeavesNothingInUse) {
    std::atomic<int> living{0};
    Gate<Object> gate(2);
    gate.set(std::make_unique<Object>(living));
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> bad{0}, visits{0};
    const auto visit = [&](std::size_t user) {
        for (; !stop; ++visits) {
            bad += gate.with(user, 1u, [](Object& object) { return object.value == 1 ? 0u : 1u; });
        }
    };
    {
        const std::jthread one(visit, 0), two(visit, 1);
        for (unsigned i = 0; i < 2000; ++i) {
            const auto before = gate.set(std::make_unique<Object>(living));
            EXPECT_EQ(living, 2);
        }
        while (visits < 1000) std::this_thread::yield();
        stop = true;
    }
    EXPECT_EQ(bad, 0u) << "of " << visits << " visits";
    gate.set(nullptr);
    EXPECT_EQ(living, 0);
}

TEST(GateTest, AnotherUserIsNotHeldUpByTheVisitUnderWay) {
    Gate<int> gate(2);
    gate.set(std::make_unique<int>(1));
    std::atomic<bool> inside{false}, leave{false};
    const std::jthread slow([&] {
        gate.with(0, 0, [&](int& value) {
            inside = true;
            while (!leave) std::this_thread::yield();
            return value;
        });
    });
    while (!inside) std::this_thread::yield();
    const std::jthread owner([&] { gate.set(std::make_unique<int>(2)); });
    int seen = 1;
    while (seen == 1) seen = gate.with(1, 0, [](int& value) { return value; });
    EXPECT_EQ(seen, 2) << "the next object, while the one before is in use";
    leave = true;
}

TEST(GateTest, SetWaitsForTheVisitUnderWay) {
    std::atomic<int> living{0};
    Gate<Object> gate(1);
    gate.set(std::make_unique<Object>(living));
    std::atomic<bool> inside{false}, leave{false}, returned{false};
    std::jthread user([&] {
        gate.with(0, false, [&](Object&) {
            inside = true;
            while (!leave) std::this_thread::yield();
            EXPECT_FALSE(returned);
            return true;
        });
    });
    while (!inside) std::this_thread::yield();
    std::jthread owner([&] {
        gate.set(nullptr);
        returned = true;
    });
    for (unsigned i = 0; i < 1000; ++i) std::this_thread::yield();
    EXPECT_FALSE(returned);
    leave = true;
}

}  // namespace
}  // namespace verbline::pmd
