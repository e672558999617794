// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/namespace/proposed_address.h"

#include <gtest/gtest.h>

#include "tests/apps/verbline/scratch.h"

namespace verbline::verbs {
namespace {

TEST(ProposedAddress, IsOneProcessesAtATime) {
    const cli::Scratch scratch;
    std::filesystem::create_directory(scratch.path() / "infiniband_verbs");
    EXPECT_FALSE(take_proposed_address(scratch.path())) << "nothing is proposed";
    const auto mac = random_mac();
    ASSERT_TRUE(propose_address(scratch.path(), mac));
    {
        const auto first = take_proposed_address(scratch.path());
        ASSERT_TRUE(first);
        EXPECT_EQ(first->mac, mac);
        EXPECT_FALSE(take_proposed_address(scratch.path()));
    }
    EXPECT_TRUE(take_proposed_address(scratch.path())) << "the first has ended";
}

TEST(ProposedAddress, CutShortIsNone) {
    const cli::Scratch scratch;
    std::filesystem::create_directory(scratch.path() / "infiniband_verbs");
    scratch.write("infiniband_verbs/.address", "abc");
    EXPECT_FALSE(take_proposed_address(scratch.path()));
}

TEST(ProposedAddress, NamesTheFileThatCannotBeWritten) {
    const cli::Scratch scratch;
    const auto proposed = propose_address(scratch.path(), random_mac());
    ASSERT_FALSE(proposed);
    EXPECT_EQ(proposed.error().code, ENOENT);
}

}  // namespace
}  // namespace verbline::verbs
