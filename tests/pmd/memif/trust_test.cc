// SPDX-License-Identifier: BSD-3-Clause
// Sockets and servers of other users.
#include <sys/stat.h>

#include "tests/pmd/memif/ends.h"
#include "tests/support/stranger.h"

namespace verbline::pmd {
namespace {

using namespace test_ends;

int refusal(const MemifOptions& options) {
    const auto device = Memif::create(options, packet_pool());
    return device ? 0 : device.error().code;
}

TEST_F(MemifTest, NeitherEndUsesADirectoryThatAnyoneMayWriteTo) {
    ASSERT_EQ(chmod(directory.c_str(), 0777), 0);
    EXPECT_EQ(refusal(server), EPERM);
    EXPECT_EQ(refusal(client), EPERM);
    ASSERT_EQ(chmod(directory.c_str(), 01777), 0);
    const auto sticky = open(server);
    EXPECT_EQ(refusal(client), 0) << "as /tmp is, where nobody else can replace what is ours";
}

TEST_F(MemifTest, AServerOfAnotherUserIsCountedAndGivenNothing) {
    SKIP_WITHOUT_OTHER_USERS();
    const auto device = open(client);
    EXPECT_FALSE(device->link_up());
    EXPECT_EQ(counter(*device, "link_untrusted_servers"), 0u) << "there is none";
    const test::Served impostor(client.path, test::stranger);
    EXPECT_FALSE(device->link_up());
    EXPECT_EQ(counter(*device, "link_untrusted_servers"), 1u);
    EXPECT_EQ(impostor.heard(), 0);
    EXPECT_EQ(impostor.heard(), -1);

    client.trust.user = test::stranger;
    const auto trusting = open(client);
    EXPECT_FALSE(trusting->link_up());
    EXPECT_EQ(counter(*trusting, "link_untrusted_servers"), 0u);
}

TEST_F(MemifTest, AnotherUsersSocketInASharedDirectoryIsNotReplaced) {
    SKIP_WITHOUT_OTHER_USERS();
    ASSERT_EQ(chmod(directory.c_str(), 01777), 0);
    const test::Served theirs(client.path, test::stranger);
    test::give_to(client.path, test::stranger);
    EXPECT_EQ(refusal(client), EPERM);
    EXPECT_EQ(refusal(server), EPERM);
    EXPECT_EQ(theirs.heard(), -1);
}

}  // namespace
}  // namespace verbline::pmd
