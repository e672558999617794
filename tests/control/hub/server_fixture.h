// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the tests of a hub's server share: one that runs on a thread of its own, and clients that say anything.

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
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
#include "datapath/wire/text.h"
#include "tests/control/hub/address.h"
#include "tests/support/loop_thread.h"

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

/// A server on a thread of its own.
struct ServerTest : ::testing::Test {
    void TearDown() override {
        stop();
        std::filesystem::remove_all(directory(name));
    }
    /// `setup` but for the name.
    void serve(RegistrySetup setup, LaneHost& host) {
        std::filesystem::remove_all(directory(name));
        setup.name = name;
        loop = control::Loop::create().value();
        server = Server::open(*loop, setup, 4200, host).value();
        thread.emplace(*loop);
    }
    void stop() {
        thread.reset();
        server.reset();
    }
    /// Runs on the server's thread, after all that it has received before.
    template <class Task>
    void on_server(Task task) {
        std::binary_semaphore done{0};
        loop->post([&] {
            task();
            done.release();
        });
        done.acquire();
    }

    const std::string name = "test-" + std::to_string(getpid());
    std::unique_ptr<control::Loop> loop;
    std::unique_ptr<Server> server;
    std::optional<test::LoopThread> thread;
};

struct HubServerTest : ServerTest {
    void SetUp() override { serve({.subnets = default_subnets(), .max_lanes = 2}, host); }
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

    FakeHost host;
};

/// A node's.
struct NodeTest : ServerTest {
    NodeIdentity identity() const { return {.mac = port_mac, .addresses = {address("10.1.0.1/24")}}; }
    Lane join() const { return hub::join({.hub = name, .kind = ServerKind::node}).value(); }

    const wire::MacAddress port_mac = *wire::from_string<wire::MacAddress>("02:00:00:00:00:07");
};

}  // namespace verbline::hub
