// SPDX-License-Identifier: BSD-3-Clause
#include "control/loop/acceptor.h"

#include <cerrno>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/descriptor_limit.h"

namespace verbline::control {
namespace {

/// An acceptor of a socket in the abstract namespace.
struct AcceptorTest : ::testing::Test {
    AcceptorTest() {
        const auto name = "verbline-acceptor-" + std::to_string(getpid());
        name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    }
    void SetUp() override {
        FileDescriptor listener(make_socket());
        ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        ASSERT_EQ(listen(listener.get(), 4), 0);
        ASSERT_TRUE(acceptor.start(std::move(listener)));
    }
    static FileDescriptor make_socket() {
        return FileDescriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    }
    FileDescriptor connect() const {
        auto client = make_socket();
        EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        return client;
    }
    /// As many turns of the loop as something is to be done at once, at most `most`: how many there were.
    int busy_turns(int most) const {
        int turns = 0;
        for (const Time begin = loop->now(); turns < most && loop->now() - begin < Acceptor::rest / 2; ++turns) {
            loop->run_once(Acceptor::rest / 2);
        }
        return turns;
    }

    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    std::unique_ptr<Loop> loop = Loop::create().value();
    std::vector<FileDescriptor> accepted;
    std::vector<int> shortages;
    Acceptor acceptor{*loop, [this](FileDescriptor connection) { accepted.push_back(std::move(connection)); },
                      [this](int code) { shortages.push_back(code); }};
};

TEST_F(AcceptorTest, ConnectionIsGivenToItsUser) {
    const auto client = connect();
    loop->run_once(second);
    ASSERT_EQ(accepted.size(), 1u);
    EXPECT_EQ(send(client.get(), "x", 1, 0), 1);
    char byte = 0;
    EXPECT_EQ(recv(accepted[0].get(), &byte, 1, 0), 1);
    EXPECT_NE(fcntl(accepted[0].get(), F_GETFL) & O_NONBLOCK, 0);
    EXPECT_TRUE(shortages.empty());
}

TEST_F(AcceptorTest, ShortageOfDescriptorsNeitherSpinsNorLosesTheClient) {
    // A sanitizer looks at the first object of a type with a pipe, for which there is no descriptor later on.
    const auto timer = loop->after(0, [] {});
    loop->run_once(second);
    const auto client = connect(), another = connect();
    {
        const test::DescriptorLimit none(0);
        EXPECT_LE(busy_turns(1000), 3) << "the loop is kept busy by what cannot be accepted";
        for (int i = 0; i < 3; ++i) loop->run_once(2 * Acceptor::rest);
    }
    EXPECT_TRUE(accepted.empty());
    EXPECT_EQ(shortages, std::vector{EMFILE}) << "said once, however long it lasts";
    EXPECT_GE(acceptor.counters().accept_shortages.value(), 2u);
    for (int turns = 0; accepted.size() < 2 && turns < 20; ++turns) loop->run_once(second);
    EXPECT_EQ(accepted.size(), 2u);
    EXPECT_EQ(acceptor.counters().connections_accepted.value(), 2u);

    const auto third = connect();
    const test::DescriptorLimit none(0);
    loop->run_once(second);
    EXPECT_EQ(shortages.size(), 2u) << "a new shortage is said again";
}

}  // namespace
}  // namespace verbline::control
