// SPDX-License-Identifier: BSD-3-Clause
// Hubs that are not what they seem. What a client says to a good one is in server_test.cc.
#include "control/hub/client.h"

#include <cerrno>
#include <filesystem>
#include <string>

#include "control/hub/directory.h"
#include "tests/support/stranger.h"

namespace verbline::hub {
namespace {

namespace fs = std::filesystem;

struct HubClientTest : ::testing::Test {
    HubClientTest() {
        fs::remove_all(directory(name));
        EXPECT_TRUE(make_directory(name));
    }
    ~HubClientTest() override { fs::remove_all(directory(name)); }
    /// Nobody answers: a client that is not refused at once waits for `answer_limit`.
    Error refusal() const {
        auto lane = join({.hub = name, .program = "test"});
        return lane ? Error{0, "joined"} : lane.error();
    }

    const std::string name = "impostor-" + std::to_string(getpid());
};

TEST_F(HubClientTest, AHubThatAnyoneCouldReplaceIsRefused) {
    const test::Served hub(control_socket(name), geteuid());
    ASSERT_EQ(chmod(directory(name).c_str(), 0777), 0);
    EXPECT_EQ(refusal().code, EPERM) << refusal().what;
    EXPECT_FALSE(runs(name));
    EXPECT_EQ(hub.heard(), -1) << "it was not even connected to";
    EXPECT_EQ(start(name, "/bin/false").error().code, EPERM) << "nor is another started beside it";
}

TEST_F(HubClientTest, AStrangersDirectoryIsRefused) {
    SKIP_WITHOUT_OTHER_USERS();
    const test::Served hub(control_socket(name), test::stranger);
    test::give_to(directory(name), test::stranger);
    const auto error = refusal();
    EXPECT_EQ(error.code, EPERM);
    EXPECT_TRUE(error.what.starts_with("hub `" + name + "`: " + directory(name).string() + " belongs to user 12345"))
        << error.what;
    EXPECT_EQ(hub.heard(), -1);
    EXPECT_EQ(make_directory(name).error().code, EPERM);
}

TEST_F(HubClientTest, AnUntrustedServerGetsNoMessage) {
    SKIP_WITHOUT_OTHER_USERS();
    const test::Served hub(control_socket(name), test::stranger);
    EXPECT_EQ(refusal().code, EPERM) << refusal().what;
    EXPECT_EQ(hub.heard(), 0) << "connected to, to see who it is, and left without a word";
}

TEST_F(HubClientTest, MissingHubReturnsEnoent) {
    EXPECT_EQ(refusal().code, ENOENT);
    fs::remove_all(directory(name));
    EXPECT_EQ(refusal().code, ENOENT);
}

}  // namespace
}  // namespace verbline::hub
