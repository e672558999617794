// SPDX-License-Identifier: BSD-3-Clause
#include "control/telemetry/command_server.h"

#include <filesystem>
#include <string>
#include <thread>

#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "apps/verbline/packet_program/command_client.h"
#include "control/telemetry/listen.h"
#include "tests/support/unix_socket.h"

namespace verbline::telemetry {
namespace {

using CommandJson = CommandServer::Json;

/// A server on a thread of its own, in a directory where an instance's sockets could be.
class CommandServerTest : public ::testing::Test {
protected:
    CommandServerTest() {
        std::filesystem::create_directories(directory_);
        loop_ = control::Loop::create().value();
        server_ = CommandServer::open(*loop_, socket_, [this](const CommandJson& request) -> Result<std::string> {
                      ++executed_;
                      if (request.value("command", "") == "fail") return failure(ENOENT, "there is none");
                      return "done: " + request.dump();
                  }).value();
        thread_ = std::thread([this] { loop_->run(); });
    }
    ~CommandServerTest() override {
        loop_->stop();
        thread_.join();
        server_.reset();
        EXPECT_FALSE(std::filesystem::exists(socket_));
        std::filesystem::remove_all(directory_);
    }
    cli::Instance instance() const { return {.name = "gw", .pid = getpid(), .socket = directory_ / "telemetry"}; }

    const std::filesystem::path directory_ =
        std::filesystem::temp_directory_path() / ("verbline-commands-" + std::to_string(getpid()));
    const std::filesystem::path socket_ = directory_ / command_socket;
    unsigned executed_ = 0;
    std::unique_ptr<control::Loop> loop_;
    std::unique_ptr<CommandServer> server_;
    std::thread thread_;
};

TEST_F(CommandServerTest, ACommandIsDoneOrSaysWhyNot) {
    auto client = cli::CommandClient::connect(instance());
    ASSERT_TRUE(client) << client.error().what;
    EXPECT_EQ(client->command({{"command", "go"}}).value(), R"(done: {"command":"go"})");
    const auto refused = client->command({{"command", "fail"}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().what, "there is none");
    EXPECT_EQ(refused.error().code, ENOENT);
    EXPECT_TRUE(client->command({{"command", "go"}})) << "the connection goes on";
}

TEST_F(CommandServerTest, OtherUsersAreKeptOut) {
    struct stat status{};
    ASSERT_EQ(stat(socket_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    if (geteuid() != 0) GTEST_SKIP() << "to become another user takes root";
    // By the socket's own check, if the file's mode does not keep them out.
    ASSERT_EQ(chmod(socket_.c_str(), 0666), 0);
    const pid_t child = fork();
    if (child == 0) {
        if (setuid(65'534) != 0) _exit(2);
        const auto fd = test::connect_to(socket_);
        if (!fd) _exit(3);
        constexpr std::string_view request = R"({"command": "go"})";
        (void)test::send_packet(fd, std::as_bytes(std::span(request)));
        char answer = 0;
        pollfd waiting{.fd = fd.get(), .events = POLLIN, .revents = 0};
        poll(&waiting, 1, 5000);
        _exit(recv(fd.get(), &answer, 1, 0) <= 0 ? 0 : 1);
    }
    int status_of_child = -1;
    waitpid(child, &status_of_child, 0);
    EXPECT_EQ(status_of_child, 0) << "it was answered, or could not connect";
    EXPECT_EQ(executed_, 0u);
}

TEST_F(CommandServerTest, WhatIsNoRequestIsRefused) {
    auto connection = cli::InstanceSocket::connect(socket_);
    ASSERT_TRUE(connection);
    for (const auto* text : {"nonsense", "[]", "7", "{\"command\"", "\xff\xfe"}) {
        ASSERT_TRUE(connection->send(text));
        const auto answer = CommandJson::parse(connection->receive().value());
        EXPECT_EQ(answer["error"], "a command is a JSON object") << text;
    }
    EXPECT_EQ(executed_, 0u);
    ASSERT_TRUE(connection->send(std::string(CommandServer::max_request + 1, ' ')));
    EXPECT_FALSE(connection->receive()) << "too large: disconnected";
}

TEST_F(CommandServerTest, AnInstanceWithoutCommandsSaysSo) {
    auto other = instance();
    other.socket = directory_ / "elsewhere" / "telemetry";
    std::filesystem::create_directory(directory_ / "elsewhere");
    EXPECT_EQ(cli::CommandClient::connect(other).error().what, "gw takes no commands; a gateway or host does");
}

TEST_F(CommandServerTest, ManyClientsAreBounded) {
    std::vector<FileDescriptor> connections;
    for (std::size_t i = 0; i < CommandServer::max_clients + 4; ++i)
        if (auto fd = test::connect_to(socket_)) connections.push_back(std::move(fd));
    connections.clear();
    auto client = cli::CommandClient::connect(instance());
    for (int turn = 0; turn < 50 && (!client || !client->command({{"command", "go"}})); ++turn) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until the others are seen to be gone
        client = cli::CommandClient::connect(instance());
    }
    ASSERT_TRUE(client);
    EXPECT_TRUE(client->command({{"command", "go"}}));
}

}  // namespace
}  // namespace verbline::telemetry
