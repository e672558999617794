// SPDX-License-Identifier: BSD-3-Clause
// A hub's server while each of its calls fails once, and a client while each of its own does.
#include "tests/support/faults.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <unistd.h>

#include <gtest/gtest.h>

#include "control/hub/client.h"
#include "control/hub/directory.h"
#include "control/hub/server.h"
#include "tests/support/loop_thread.h"

namespace verbline::hub {
namespace {

using test::Outcome, test::WithoutFaults;

struct Lanes : LaneHost {
    Result<std::string> open_lane(LaneId, const Registry::Tenant&) override { return ++open, "/nowhere"; }
    void close_lane(LaneId) override { --open; }
    Result<void> set_group(LaneId, const GroupMembership&) override { return {}; }

    std::atomic<int> open = 0;
};

struct HubFaults : ::testing::Test {
    HubFaults() { std::filesystem::remove_all(directory(name)); }
    ~HubFaults() override { std::filesystem::remove_all(directory(name)); }

    const std::string name = "faults" + std::to_string(getpid());
    const RegistrySetup setup{.name = name, .subnets = default_subnets(), .max_lanes = 4};
};

TEST_F(HubFaults, AServerServesHangsUpOrSaysWhyNot) {
    const auto tally = test::expect_survives_faults("hub: server", [this]() -> Outcome {
        Lanes lanes;
        auto loop = control::Loop::create();
        if (!loop) return loop.error();
        {
            std::atomic<bool> done = false;
            std::jthread client;  // ends after the server, which hangs up on it
            auto server = Server::open(**loop, setup, 4200, lanes);
            if (!server) return server.error();
            {
                const WithoutFaults starting;
                client = std::jthread([&] {
                    std::ignore = join({.hub = name, .program = "client"});
                    done = true;
                });
            }
            while (!done) (*loop)->run_once(millisecond);
        }
        EXPECT_EQ(lanes.open, 0);
        return {};
    });
    EXPECT_GT(tally.errors, 5u);
}

TEST_F(HubFaults, AClientJoinsOrSaysWhyNot) {
    Lanes lanes;
    const auto loop = control::Loop::create().value();
    auto server = Server::open(*loop, setup, 4200, lanes).value();
    test::LoopThread thread(*loop);
    const auto tally = test::expect_survives_faults("hub: client", [&, this]() -> Outcome {
        const test::LoopThread::SettleAtEnd hub(thread);
        auto lane = join({.hub = name, .program = "client"});
        if (!lane) return lane.error();
        const wire::MacAddress group{{std::byte{3}}};
        if (auto joined = join_group(*lane, group); !joined) return joined.error();
        auto port = reserve_port(*lane, 0x106, 0);
        if (!port) return port.error();
        if (auto released = release_port(*lane, 0x106, *port); !released) return released.error();
        if (auto left = leave_group(*lane, group); !left) return left.error();
        return {};
    });
    EXPECT_GT(tally.errors, 5u);
    thread.stop();
    server.reset();
    EXPECT_EQ(lanes.open, 0);
}

}  // namespace
}  // namespace verbline::hub
