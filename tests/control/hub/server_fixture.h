// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the tests of a hub's server share: one that runs on a thread of its own, and clients that say anything.

#include <array>
#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "control/hub/client.h"
#include "control/hub/directory.h"
#include "control/hub/server.h"

namespace verbline::hub {

/// Lanes without devices. Only the server's thread uses it, and the test once that has ended.
struct FakeHost : LaneHost {
    Result<std::string> open_lane(LaneId lane, const Registry::Tenant& /*tenant*/) override {
        if (broken) return failure(ENOMEM, "no memory for packets");
        ++open;
        return "/run/lane-" + std::to_string(static_cast<unsigned>(lane));
    }
    void close_lane(LaneId) override { --open; }
    Result<void> set_group(LaneId, const GroupMembership& group) override {
        groups.push_back(group);
        return {};
    }

    bool broken = false;
    int open = 0;
    std::vector<GroupMembership> groups;
};

struct HubServerTest : ::testing::Test {
    void SetUp() override {
        std::filesystem::remove_all(directory(name));
        loop = control::Loop::create().value();
        server = Server::open(*loop, {.name = name, .subnets = default_subnets(), .max_lanes = 2}, 4200, host).value();
        thread = std::thread([this] { loop->run(); });
    }
    void TearDown() override {
        stop();
        std::filesystem::remove_all(directory(name));
    }
    void stop() {
        if (!thread.joinable()) return;
        loop->stop();
        thread.join();
        server.reset();
    }
    Result<Lane> join(std::vector<InterfaceAddress> addresses = {}, bool direct = false) {
        return hub::join({.hub = name, .addresses = std::move(addresses), .program = "test", .direct = direct});
    }
    /// A connection on which anything can be said.
    FileDescriptor connect() const {
        sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
        control_socket(name).string().copy(address.sun_path, sizeof(address.sun_path) - 1);
        FileDescriptor fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
        EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
        return fd;
    }
    /// What the server answers; nothing: it hangs up.
    static std::optional<Message> answer(const FileDescriptor& fd) {
        pollfd one{.fd = fd.get(), .events = POLLIN, .revents = 0};
        EXPECT_EQ(poll(&one, 1, 10'000), 1) << "the server says nothing";
        std::array<std::byte, largest_message> buffer;
        const auto n = recv(fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (n <= 0) return std::nullopt;
        return decode(std::span(buffer).first(static_cast<std::size_t>(n))).value();
    }
    static void say(const FileDescriptor& fd, std::span<const std::byte> bytes) {
        EXPECT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    }
    /// Runs on the server's thread, after all that it has received before.
    template <class Task>
    void on_server(Task task) {
        std::atomic<bool> done{false};
        loop->post([&] {
            task();
            done = true;
            done.notify_one();
        });
        done.wait(false);
    }

    const std::string name = "test-" + std::to_string(getpid());
    FakeHost host;
    std::unique_ptr<control::Loop> loop;
    std::unique_ptr<Server> server;
    std::thread thread;
};

}  // namespace verbline::hub
