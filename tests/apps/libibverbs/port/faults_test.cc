// SPDX-License-Identifier: BSD-3-Clause
// A whole port of a program, of each kind of link, brought up, used and brought down, while each call fails once.
#include "tests/support/faults.h"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <unistd.h>

#include <gtest/gtest.h>

#include "apps/libibverbs/port/eal.h"
#include "apps/libibverbs/port/packet_pool.h"
#include "apps/libibverbs/port/port.h"
#include "apps/libibverbs/port/sysfs_facts.h"
#include "control/hub/directory.h"
#include "control/hub/server.h"
#include "datapath/link/ip_gid.h"
#include "pmd/base/clock.h"
#include "pmd/memif/memif.h"
#include "tests/support/loop_thread.h"
#include "tests/support/namespace.h"

namespace verbline::verbs {
namespace {

using test::Outcome, test::WithoutFaults;

constexpr std::uint16_t tcp = 0x0106;
const wire::Gid group = link::gid_of(wire::ipv4(224, 1, 2, 3)), neighbour = link::gid_of(wire::ipv4(10, 9, 0, 2));

class StartEal : public ::testing::Environment {
    void SetUp() override { ASSERT_TRUE(eal_.need()); }
    Eal eal_;
};
auto* const eal = ::testing::AddGlobalTestEnvironment(new StartEal);

struct PortFaults : ::testing::Test {
    PortFaults() {
        std::filesystem::create_directories(directory / "sys");
        settings.addresses = {*parse_address("10.9.0.1/24")};
    }
    ~PortFaults() override { std::filesystem::remove_all(directory); }

    /// What a program asks of a port, until something fails.
    static Outcome use(VerbsPort& port) {
        if (auto gsi = port.gsi(); !gsi) return gsi.error();
        if (auto joined = port.groups().join(group, {}); !joined) return joined.error();
        port.groups().leave(group, {});
        const auto reserved = port.ports().reserve(tcp, 0);
        if (!reserved) return reserved.error();
        if (auto released = port.ports().release(tcp, *reserved); !released) return released.error();
        port.listen(0, &port, [](const transport::AsyncEvent&) {});
        port.stop_listening(0, &port);
        port.ask_next_hop(3, neighbour);
        port.progress().posted();
        port.finish(monotonic_now());
        return {};
    }
    Outcome open_use_close(const Link& link) {
        const auto port = VerbsPort::open({.name = "verbline0", .instance = "v0", .own_mac = mac}, link, settings);
        if (!port) return port.error();
        return use(**port);
    }
    /// Two ports of the same address in turn: what the first one held, the second one gets.
    void expect_survives(std::string_view name, const Link& link) {
        expect_survives(name, [&] { return open_use_close(link); });
    }
    static void expect_survives(std::string_view name, const std::function<Outcome()>& run) {
        const auto tally = test::expect_survives_faults(name, run);
        EXPECT_GT(tally.errors, 5u);
    }

    const wire::MacAddress mac{{std::byte{2}, {}, {}, {}, {}, std::byte{1}}};
    const std::filesystem::path directory =
        std::filesystem::temp_directory_path() / ("verbline-faults-" + std::to_string(getpid()));
    Settings settings;
};

TEST_F(PortFaults, OnMemif) {
    expect_survives("port: memif", pmd::MemifSpec{.path = directory / "pair", .server = true});
    EXPECT_FALSE(std::filesystem::exists(directory / "pair"));
}

TEST_F(PortFaults, ImpairedAndCaptured) {
    settings.impair = "loss=0.01";
    settings.capture = directory / "file.pcapng";
    expect_survives("port: memif, impaired and captured", pmd::MemifSpec{.path = directory / "pair", .server = true});
}

TEST_F(PortFaults, ShownInSysfs) {
    const auto port = VerbsPort::open({.name = "verbline0", .instance = "v0", .own_mac = mac},
                                      pmd::MemifSpec{.path = directory / "pair", .server = true}, settings);
    ASSERT_TRUE(port) << port.error().what;
    test::expect_survives_faults("port: entries in sysfs", [&]() -> Outcome {
        auto shown = SysfsTree(directory / "sys").update(sysfs_facts(**port));
        if (!shown) return shown.error();
        return {};
    });
}

TEST_F(PortFaults, OnATap) {
    SKIP_UNLESS_ROOT();
    const test::Namespace space;
    expect_survives("port: tap", pmd::TapSpec{.interface = "vl0", .netns = space.path()});
}

/// With the kernel's own addresses: its neighbours are asked for, and its port of RoCE guarded.
TEST_F(PortFaults, OnAnInterfaceOfTheKernel) {
    SKIP_UNLESS_ROOT();
    const test::Namespace space;
    space.run("ip link add vl0 type veth peer name vl1");
    space.run("ip address add 10.9.0.1/24 dev vl0");
    space.run("ip link set vl0 up");
    space.run("ip link set vl1 up");
    space.run("ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:02 dev vl0 nud permanent");  // found at once
    settings.addresses = {};
    space.enter([this] { expect_survives("port: interface of the kernel", pmd::EthernetSpec{.interface = "vl0"}); });
}

/// The hub's end of each lane, which connects whenever it is looked at.
class Lanes : public hub::LaneHost {
public:
    explicit Lanes(std::filesystem::path directory) : directory_(std::move(directory)) {}
    Result<std::string> open_lane(hub::LaneId lane, const hub::Registry::Tenant&) override {
        const auto socket = directory_ / ("lane" + std::to_string(static_cast<unsigned>(lane)));
        auto device = pmd::Memif::create({.path = socket, .server = true, .buffer_size = 4352, .mtu = 4200}, nullptr);
        if (!device) return std::unexpected(device.error());
        if (auto up = (*device)->up(); !up) return std::unexpected(up.error());
        lanes_[lane] = std::move(*device);
        return socket.string();
    }
    void close_lane(hub::LaneId lane) override { lanes_.erase(lane); }
    Result<void> set_group(hub::LaneId, const hub::GroupMembership&) override { return {}; }
    void upkeep() {
        for (auto& [id, lane] : lanes_) lane->link_up();
    }
    bool empty() const { return lanes_.empty(); }

private:
    std::filesystem::path directory_;
    std::map<hub::LaneId, std::unique_ptr<pmd::Memif>> lanes_;
};

TEST_F(PortFaults, OnALaneOfAHub) {
    const auto name = "faults" + std::to_string(getpid());
    Lanes lanes(directory);
    const auto loop = control::Loop::create().value();
    auto server =
        hub::Server::open(*loop, {.name = name, .subnets = hub::default_subnets(), .max_lanes = 4}, 4200, lanes)
            .value();
    const auto timer = loop->every(millisecond, [&] { lanes.upkeep(); });
    test::LoopThread thread(*loop);
    settings.addresses = {};
    expect_survives("port: lane of a hub", [&] {
        const test::LoopThread::SettleAtEnd hub(thread);
        return open_use_close(HubLink{name});
    });
    thread.stop();
    for (int i = 0; i < 16 && !lanes.empty(); ++i) loop->run_once(millisecond);
    EXPECT_TRUE(lanes.empty());
    server.reset();
    std::filesystem::remove_all(hub::directory(name));
}

}  // namespace
}  // namespace verbline::verbs
