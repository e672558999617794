// SPDX-License-Identifier: BSD-3-Clause
// Server and client against each other over the real socket, in a runtime directory of the test's own. Where a client
// waits for its answer the server has a thread.
#include "control/hub/server.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <gtest/gtest.h>

#include "control/hub/client.h"
#include "control/hub/directory.h"
#include "datapath/wire/text.h"
#include "tests/control/hub/server_fixture.h"

namespace verbline::hub {
namespace {

TEST_F(HubServerTest, AClientGetsALane) {
    ASSERT_TRUE(runs(name));
    const auto lane = join();
    ASSERT_TRUE(lane) << lane.error().what;
    EXPECT_EQ(lane->memif_socket, "/run/lane-0");
    EXPECT_EQ(to_string(lane->mac), "06:76:0a:63:00:01");
    ASSERT_EQ(lane->addresses.size(), 2u);
    EXPECT_EQ(to_string(lane->addresses[0]), "10.99.0.1/16");
    EXPECT_EQ(lane->mtu, 4200);
    EXPECT_EQ(lane->slot_size() % 64, 0u);
    EXPECT_GE(lane->slot_size(), 4218u);
}

TEST_F(HubServerTest, TheLaneEndsWithTheConnection) {
    {
        const auto lane = join({*link::parse_interface_address("10.1.0.1/24")});
        ASSERT_TRUE(lane);
        const auto other = join({*link::parse_interface_address("10.1.0.1/24")});
        ASSERT_FALSE(other);
        EXPECT_EQ(other.error().code, EADDRINUSE);
        EXPECT_NE(other.error().what.find("by test (process " + std::to_string(getpid()) + ")"), std::string::npos)
            << other.error().what;
    }
    // Closed and joined in one breath: the server sees the end first.
    const auto next = join({*link::parse_interface_address("10.1.0.1/24")});
    ASSERT_TRUE(next) << next.error().what;
    EXPECT_EQ(next->memif_socket, "/run/lane-0");
    on_server([&] { EXPECT_EQ(host.open, 1); });
}

TEST_F(HubServerTest, GroupsReachTheHost) {
    const auto lane = join().value();
    const auto group = *wire::from_string<wire::MacAddress>("01:00:5e:01:01:01");
    EXPECT_TRUE(join_group(lane, group));
    EXPECT_TRUE(leave_group(lane, group));
    on_server([&] { EXPECT_EQ(host.groups, (std::vector<GroupMembership>{{group, true}, {group, false}})); });
}

TEST_F(HubServerTest, PortsAreReservedUntilTheyAreReleased) {
    const auto lane = join().value();
    EXPECT_GE(reserve_port(lane, 0x0106, 0).value(), first_ephemeral_port);
    EXPECT_EQ(reserve_port(lane, 0x0106, 7174), 7174);
    EXPECT_EQ(reserve_port(lane, 0x0106, 7174).error().code, EADDRINUSE);
    EXPECT_TRUE(release_port(lane, 0x0106, 7174));
    EXPECT_EQ(release_port(lane, 0x0106, 7174).error().code, ENOENT);
    EXPECT_TRUE(join_group(lane, *wire::from_string<wire::MacAddress>("01:00:5e:01:01:01"))) << "none the worse";
}

TEST_F(HubServerTest, AFullHubAndABrokenHostSayWhy) {
    const auto first = join(), second = join(), third = join();
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, ENOSPC);
    on_server([&] { host.broken = true; });
    stop();
}

TEST_F(HubServerTest, ALaneThatCannotBeMadeTakesNothing) {
    on_server([&] { host.broken = true; });
    const auto refused = join();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ENOMEM);
    EXPECT_EQ(refused.error().what, "no memory for packets");
    on_server([&] {
        host.broken = false;
        EXPECT_TRUE(server->registry().tenants().empty());
    });
    EXPECT_TRUE(join());
}

TEST_F(HubServerTest, HostileClientsAreHungUpOnAndOthersServed) {
    const auto join_bytes = encode(Join{});
    std::vector<std::vector<std::byte>> hostile{
        {std::byte{1}},
        std::vector<std::byte>(4096, std::byte{0xff}),
        encode(Done{}),
        encode(Refused{1, "you"}),
        encode(Reserve{1, 1}),
        encode(Reserved{1}),
        encode(Rebind{1, 1}),
        encode(Release{1, 1}),
        encode(GroupMembership{*wire::from_string<wire::MacAddress>("01:00:5e:01:01:01"), true})};
    hostile.push_back(join_bytes);
    hostile.back().pop_back();
    for (const auto& bytes : hostile) {
        const auto fd = connect();
        say(fd, bytes);
        EXPECT_FALSE(answer(fd));
    }
    const auto twice = connect();
    say(twice, join_bytes);
    EXPECT_TRUE(std::holds_alternative<Granted>(answer(twice).value()));
    say(twice, join_bytes);
    EXPECT_FALSE(answer(twice));
    EXPECT_TRUE(join());
    on_server([&] { EXPECT_LE(host.open, 1); });
}

TEST_F(HubServerTest, AnotherVersionIsRefusedWithAReason) {
    auto bytes = encode(Join{});
    bytes[4] = std::byte{77};
    const auto fd = connect();
    say(fd, bytes);
    const auto refused = answer(fd);
    ASSERT_TRUE(refused);
    EXPECT_EQ(std::get<Refused>(*refused).code, EPROTO);
    EXPECT_FALSE(answer(fd));
}

TEST_F(HubServerTest, ConnectionsWithoutALaneAreBounded) {
    std::vector<FileDescriptor> idle;
    for (std::size_t i = 0; i < Server::max_strangers; ++i) idle.push_back(connect());
    const auto one_too_many = connect();
    EXPECT_FALSE(answer(one_too_many));
    idle.clear();
    EXPECT_TRUE(join());
}

TEST_F(HubServerTest, ConnectionsThatEndedDoNotCountForTheNext) {
    std::vector<FileDescriptor> idle;
    for (std::size_t i = 0; i < Server::max_strangers; ++i) idle.push_back(connect());
    for (std::uint64_t accepted = 0; accepted < idle.size();) {
        on_server([&] { accepted = server->counters().connections_accepted.value(); });
    }
    FileDescriptor next;
    on_server([&] {
        next = connect();  // is seen first
        idle.clear();
    });
    say(next, encode(Join{}));
    const auto granted = answer(next);
    ASSERT_TRUE(granted) << "the server hangs up";
    EXPECT_TRUE(std::holds_alternative<Granted>(*granted));
}

TEST_F(HubServerTest, ASecondHubOfTheNameIsRefused) {
    const auto second_loop = control::Loop::create().value();
    FakeHost other;
    const auto second = Server::open(*second_loop, {.name = name, .subnets = default_subnets()}, 4200, other);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, EADDRINUSE);
    EXPECT_TRUE(runs(name)) << "and the first is none the worse";
}

TEST_F(HubServerTest, TheEndOfTheHubShowsOnTheLane) {
    const auto lane = join().value();
    stop();
    EXPECT_EQ(host.open, 0);
    pollfd one{.fd = lane.control.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&one, 1, 0), 1);
    const auto group = *wire::from_string<wire::MacAddress>("01:00:5e:01:01:01");
    EXPECT_FALSE(join_group(lane, group));
    EXPECT_FALSE(runs(name));
    EXPECT_FALSE(std::filesystem::exists(control_socket(name)));
}

TEST(HubClient, WithoutAHubTheErrorNamesTheCommand) {
    const auto lane = join({.hub = "nowhere"});
    ASSERT_FALSE(lane);
    EXPECT_EQ(lane.error().code, ENOENT);
    EXPECT_EQ(lane.error().what, "no hub `nowhere` runs here; start one with `verbline hub nowhere`");
    EXPECT_FALSE(runs("nowhere"));
}

TEST(HubClient, ImpossibleRequestsAreNotSent) {
    EXPECT_EQ(join({.hub = "../etc"}).error().code, EINVAL);
    EXPECT_EQ(join({.hub = std::string(33, 'x')}).error().code, EINVAL);
    EXPECT_EQ(join({.addresses = std::vector(9, *link::parse_interface_address("10.0.0.1/24"))}).error().code, EINVAL);
    EXPECT_EQ(join({.addresses = {*link::parse_interface_address("10.0.0.0/24")}}).error().what,
              "10.0.0.0/24 is no address that a host can have");
}

/// A program that plays the hub: a shell script of these lines.
struct HubStartTest : ::testing::Test {
    void SetUp() override { std::filesystem::remove_all(directory(name)); }
    void TearDown() override { std::filesystem::remove_all(directory(name)); }
    std::string script(const std::string& lines) const {
        const auto path = directory(name) / "program";
        EXPECT_TRUE(make_directory(name));
        auto* file = std::fopen(path.c_str(), "w");
        std::fputs(("#!/bin/sh\n" + lines + "\n").c_str(), file);
        std::fclose(file);
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
        return path;
    }
    const std::string name = "start-" + std::to_string(getpid());
};

TEST_F(HubStartTest, ReturnsWhenTheHubIsReady) {
    const auto started = start(name, script("echo to the log >&2; echo \"$1 $2\" >&2; echo ready"));
    EXPECT_TRUE(started) << started.error().what;
    std::array<char, 100> text{};
    auto* log = std::fopen(log_file(name).c_str(), "r");
    ASSERT_NE(log, nullptr);
    EXPECT_GT(std::fread(text.data(), 1, text.size() - 1, log), 0u);
    std::fclose(log);
    EXPECT_EQ(text.data(), "to the log\nhub " + name + "\n");
}

TEST_F(HubStartTest, ReportsWhyTheHubDidNotStart) {
    const auto started = start(name, script("echo verbline: there is no memory >&2; exit 1"));
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().what, "hub `" + name + "` cannot be started: there is no memory");
    EXPECT_EQ(start(name, "/nonexistent/verbline").error().what,
              "hub `" + name + "` cannot be started: /nonexistent/verbline ended before it was ready");
}

TEST_F(HubServerTest, AHubThatRunsIsNotStartedAgain) {
    EXPECT_TRUE(start(name, "/nonexistent/verbline"));
}

}  // namespace
}  // namespace verbline::hub
