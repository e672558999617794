// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <functional>

#include <sys/wait.h>

#include <gtest/gtest.h>

#include "pmd/base/gate.h"
#include "tests/support/deny_membarrier.h"

namespace verbline::pmd {
namespace {

using test::deny_membarrier;

/// A filter stays, so whoever installs one is a process of its own. 0: all well.
int in_child(const std::function<int()>& act) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(30);
        _exit(act());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

struct Item {
    std::atomic<bool> gone{false};
};

/// Two threads use what a third takes away; `midway` happens then. How often something was used that was gone.
int misuses(Gate<Item>& gate, const std::function<void()>& midway = [] {}) {
    constexpr int rounds = 200;
    std::atomic<bool> stop = false;
    std::atomic<int> wrong = 0;
    std::array<std::jthread, 2> users;
    for (std::size_t i = 0; i < users.size(); ++i)
        users[i] = std::jthread([&, i] {
            while (!stop) wrong += gate.with(i, 0, [](const Item& item) { return item.gone ? 1 : 0; });
        });
    std::vector<std::unique_ptr<Item>> old;
    for (int round = 0; round < rounds; ++round) {
        if (round == rounds / 2) midway();
        auto before = gate.set(std::make_unique<Item>());
        if (before != nullptr) before->gone = true;
        old.push_back(std::move(before));
    }
    stop = true;
    for (auto& user : users) user.join();
    return wrong;
}

TEST(GateWithoutMembarrier, WhatIsWithdrawnIsUnused) {
    Gate<Item> gate(2);
    EXPECT_EQ(misuses(gate), 0);
    EXPECT_FALSE(gate.fenced());
}

TEST(GateWithoutMembarrier, WhereMembarrierIsDeniedUsersHaveFences) {
    EXPECT_EQ(in_child([] {
                  if (!deny_membarrier()) return 2;
                  Gate<Item> gate(2);
                  return gate.fenced() ? misuses(gate) : 3;
              }),
              0);
}

TEST(GateWithoutMembarrier, AFilterThatComesLaterIsFound) {
    EXPECT_EQ(in_child([] {
                  Gate<Item> gate(2);
                  bool denied = false;
                  const int wrong = misuses(gate, [&] { denied = deny_membarrier(); });
                  return denied && gate.fenced() ? wrong : 3;
              }),
              0);
}

}  // namespace
}  // namespace verbline::pmd
