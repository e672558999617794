// SPDX-License-Identifier: BSD-3-Clause
#include "control/service/service_manager.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace verbline::service {
namespace {

/// A service manager's end, and the environment that leads to it.
class ServiceManagerTest : public ::testing::Test {
protected:
    ~ServiceManagerTest() override {
        for (const auto* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
        if (!path_.empty()) unlink(path_.c_str());
    }

    /// `name` as in NOTIFY_SOCKET.
    void listen(const std::string& name) {
        sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
        std::memcpy(address.sun_path, name.data(), name.size());
        if (name[0] == '@')
            address.sun_path[0] = '\0';
        else
            path_ = name;
        socket_ = FileDescriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0));
        const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
        ASSERT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
        setenv("NOTIFY_SOCKET", name.c_str(), 1);
    }
    std::string heard() {
        std::array<char, 1024> text{};
        const auto size = recv(socket_.get(), text.data(), text.size(), 0);
        return size < 0 ? "nothing" : std::string(text.data(), static_cast<std::size_t>(size));
    }
    static std::string name(std::string_view start) { return fmt::format("{}verbline-test-{}", start, getpid()); }

    FileDescriptor socket_;
    std::string path_;
};

TEST_F(ServiceManagerTest, TellsEachStateInOneDatagram) {
    for (const auto* start : {"/tmp/", "@"}) {
        listen(name(start));
        auto manager = ServiceManager::from_environment();
        ASSERT_TRUE(manager.listens()) << start;
        manager.status("starting DPDK");
        EXPECT_EQ(heard(), "STATUS=starting DPDK");
        manager.ready("lan 10.1.0.1/24, ib0 10.2.0.1/24");
        EXPECT_EQ(heard(), "READY=1\nSTATUS=lan 10.1.0.1/24, ib0 10.2.0.1/24");
        manager.reloading(5'000'000'999);
        EXPECT_EQ(heard(), "RELOADING=1\nMONOTONIC_USEC=5000000");
        manager.alive();
        EXPECT_EQ(heard(), "WATCHDOG=1");
        manager.stopping("leaving groups");
        EXPECT_EQ(heard(), "STOPPING=1\nSTATUS=leaving groups");
        EXPECT_EQ(heard(), "nothing");
        EXPECT_EQ(manager.lost(), 0u);
    }
}

TEST_F(ServiceManagerTest, AStatusIsOneLineWhateverIsInIt) {
    listen(name("@"));
    auto manager = ServiceManager::from_environment();
    manager.status("a\nREADY=1");
    EXPECT_EQ(heard(), "STATUS=a READY=1");
}

TEST_F(ServiceManagerTest, WithoutAManagerNothingIsSaid) {
    auto manager = ServiceManager::from_environment();
    EXPECT_FALSE(manager.listens());
    manager.ready("x");
    EXPECT_EQ(manager.lost(), 0u);
    for (const auto* wrong : {"", "@", "run/notify", "/nowhere/to/be/found"}) {
        setenv("NOTIFY_SOCKET", wrong, 1);
        EXPECT_FALSE(ServiceManager::from_environment().listens()) << wrong;
    }
    setenv("NOTIFY_SOCKET", ("/" + std::string(200, 'x')).c_str(), 1);
    EXPECT_FALSE(ServiceManager::from_environment().listens());
}

TEST_F(ServiceManagerTest, AManagerThatIsSlowIsNotWaitedFor) {
    listen(name("@"));
    auto manager = ServiceManager::from_environment();
    for (int i = 0; i < 10'000 && manager.lost() == 0; ++i) manager.alive();
    EXPECT_GT(manager.lost(), 0u);
    socket_ = {};
    manager.alive();
}

TEST_F(ServiceManagerTest, IsAliveTwiceInTheTimeAllowed) {
    listen(name("@"));
    setenv("WATCHDOG_USEC", "10000000", 1);
    EXPECT_EQ(ServiceManager::from_environment().alive_period(), 5 * second);
    setenv("WATCHDOG_PID", fmt::to_string(getpid()).c_str(), 1);
    EXPECT_EQ(ServiceManager::from_environment().alive_period(), 5 * second);
    setenv("WATCHDOG_PID", fmt::to_string(getppid()).c_str(), 1);
    EXPECT_FALSE(ServiceManager::from_environment().alive_period());
    unsetenv("WATCHDOG_PID");
    for (const auto* wrong : {"", "0", "1", "-5", "10s", "99999999999999999999", "18446744073709551615"}) {
        setenv("WATCHDOG_USEC", wrong, 1);
        EXPECT_FALSE(ServiceManager::from_environment().alive_period()) << wrong;
    }
}

}  // namespace
}  // namespace verbline::service
