// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/memory_policy.h"

#include <numa.h>
#include <numaif.h>

#include <gtest/gtest.h>

#include "pmd/netdev.h"

namespace verbline::gateway {
namespace {

/// The calling thread's policy, and of one that prefers sockets whether socket 0 is the one.
struct Policy {
    int mode = -1;
    bool socket_0 = false;
    bool operator==(const Policy&) const = default;
};

Policy policy() {
    Policy now;
    auto* const nodes = numa_allocate_nodemask();
    EXPECT_EQ(get_mempolicy(&now.mode, nodes->maskp, nodes->size + 1, nullptr, 0), 0);
    now.socket_0 = numa_bitmask_isbitset(nodes, 0) != 0;
    numa_free_nodemask(nodes);
    return now;
}

struct MemoryPolicy : testing::Test {
    void SetUp() override {
        if (numa_available() < 0) GTEST_SKIP() << "this kernel knows no NUMA";
    }
};

TEST_F(MemoryPolicy, PrefersASocketForAWhile) {
    const auto before = policy();
    {
        const MemoryOnSocket near(0);
        EXPECT_EQ(policy(), (Policy{MPOL_PREFERRED, true}));
        {
            const MemoryOnSocket anywhere(pmd::any_numa_socket);
            EXPECT_EQ(policy(), (Policy{MPOL_PREFERRED, true})) << "says nothing";
        }
        EXPECT_EQ(policy(), (Policy{MPOL_PREFERRED, true}));
    }
    EXPECT_EQ(policy(), before);
}

TEST_F(MemoryPolicy, IsUnchangedForASocketThatIsNotThere) {
    const auto before = policy();
    const MemoryOnSocket far(numa_max_node() + 1);
    EXPECT_EQ(policy(), before);
}

}  // namespace
}  // namespace verbline::gateway
