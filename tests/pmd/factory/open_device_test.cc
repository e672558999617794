// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/factory/open_device.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/checksum.h"
#include "tests/support/namespace.h"
#include "tests/support/packet.h"

namespace verbline::pmd {
namespace {

struct OpenDevice : ::testing::Test {
    OpenDevice() : directory(std::filesystem::temp_directory_path() / ("verbline-open-" + std::to_string(getpid()))) {
        std::filesystem::create_directory(directory);
    }
    ~OpenDevice() override { std::filesystem::remove_all(directory); }

    Result<std::unique_ptr<NetDevice>> open(const std::vector<std::string>& texts) {
        std::vector<DeviceSpec> specs;
        for (const auto& text : texts) specs.push_back(parse_device_spec(text).value());
        return open_devices(specs, "fabric", {.pool = test::packet_pool(), .mtu = 2100}, [] { return Time{0}; });
    }
    std::string memif(const char* name) const { return "memif:" + (directory / name).string() + ",server"; }

    std::filesystem::path directory;
};

TEST_F(OpenDevice, AnAdapterCarriesNoFrames) {
    EXPECT_EQ(open({"hca:mlx5_0/2"}).error().what,
              "device hca:mlx5_0/2 carries datagrams, not frames: it is for the IPoIB ports of verbline gateway and "
              "verbline host");
}

TEST_F(OpenDevice, OneIsItself) {
    const auto device = open({memif("a.sock")});
    ASSERT_TRUE(device) << device.error().what;
    EXPECT_EQ((*device)->name(), "memif:" + (directory / "a.sock").string());
    EXPECT_EQ((*device)->capabilities().max_packet, 2114u);
}

TEST_F(OpenDevice, SeveralAreASwitch) {
    const auto device = open({memif("a.sock"), memif("b.sock")});
    ASSERT_TRUE(device) << device.error().what;
    EXPECT_EQ((*device)->name(), "fabric");
    EXPECT_TRUE(std::filesystem::exists(directory / "b.sock"));
}

TEST_F(OpenDevice, ADpdkPort) {
    const auto device = open_device(DpdkSpec{"net_null0"}, {.pool = test::packet_pool()});
    ASSERT_TRUE(device) << device.error().what;
    EXPECT_EQ((*device)->name(), "net_null0");
}

TEST_F(OpenDevice, AnInterfaceOfTheKernels) {
    SKIP_UNLESS_ROOT();
    const test::Namespace space;
    space.run("ip link add v0 type veth peer name v1");
    space.enter([&] {
        const auto device = open({"eth:v0"});
        ASSERT_TRUE(device) << device.error().what;
        EXPECT_EQ((*device)->name(), "eth:v0");
        EXPECT_EQ((*device)->capabilities().max_packet, 1514u);
        EXPECT_EQ(open({"eth:v7"}).error().what, "no interface v7; `ip link` lists those there are");
    });
}

TEST_F(OpenDevice, ATapInItsNamespace) {
    SKIP_UNLESS_ROOT();
    const test::Namespace space;
    const auto device = open({"tap:lan0,netns=" + space.path() + ",queues=2"});
    ASSERT_TRUE(device) << device.error().what;
    EXPECT_EQ((*device)->capabilities().rx_queues, 2);
    space.run("ip link show lan0 >/dev/null");
}

/// The datagram that a shell in `space` sends through tap `lan0`, as the device returns it.
test::Packet from_the_kernel(NetDevice& device, const test::Namespace& space) {
    EXPECT_TRUE(device.up());
    space.run("ip address add 10.9.0.1/24 dev lan0");
    space.run("ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:02 dev lan0");
    space.run("bash -c 'echo hello > /dev/udp/10.9.0.2/7'");
    for (rte_mbuf* packet = nullptr; device.rx_burst(0, {&packet, 1}) == 1;) {
        test::Packet frame(packet);
        const auto bytes = test::bytes_of(frame);
        if (bytes.size() > 23 && bytes[12] == std::byte{8} && bytes[23] == std::byte{17}) return frame;
    }
    return nullptr;
}

TEST_F(OpenDevice, NoWorkIsLeftToTheOtherDevicesOfASwitch) {
    SKIP_UNLESS_ROOT();
    const test::Namespace space;
    const auto tap = "tap:lan0,netns=" + space.path();
    for (const bool alone : {true, false}) {
        const auto devices = alone ? std::vector{tap} : std::vector{tap, memif("a.sock")};
        const auto device = open(devices);
        ASSERT_TRUE(device) << device.error().what;
        const auto frame = from_the_kernel(**device, space);
        ASSERT_TRUE(frame);
        const auto requests = frame->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK;
        const auto bytes = test::bytes_of(frame);
        EXPECT_EQ(requests, alone ? RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM : 0U);
        EXPECT_EQ(test::naive_l4_checksum(std::span(bytes).subspan(14), 20) == 0, !alone);
        space.run("ip address flush dev lan0");
    }
}

/// Hashes nothing: who receives is what these tests ask.
struct NoFlows : FlowHash {
    std::span<const std::uint8_t> key() const override { return key_; }
    void hash(Carries, std::span<rte_mbuf* const>, std::span<std::uint32_t> hashes) const noexcept override {
        std::ranges::fill(hashes, none);
    }
    std::array<std::uint8_t, 40> key_{};
};

std::uint16_t queues_of(const NetDevice& device) {
    EXPECT_EQ(device.capabilities().rx_queues, device.capabilities().tx_queues);
    return device.capabilities().rx_queues;
}

TEST_F(OpenDevice, AsManyQueuesAsThereAreThreads) {
    const NoFlows flows;
    OpenOptions options{.pool = test::packet_pool(), .queues = 3, .flows = &flows};
    const auto open_one = [&](const std::string& text) { return open_device(*parse_device_spec(text), options); };
    const auto memif_of_one = open_one(memif("one.sock"));
    ASSERT_TRUE(memif_of_one) << memif_of_one.error().what;
    EXPECT_EQ(queues_of(**memif_of_one), 3);
    EXPECT_TRUE((*memif_of_one)->rss()) << "spread in software";

    const auto memif_of_three = open_one(memif("three.sock") + ",queues=3");
    ASSERT_TRUE(memif_of_three) << memif_of_three.error().what;
    EXPECT_EQ(queues_of(**memif_of_three), 3);
    EXPECT_FALSE((*memif_of_three)->rss()) << "it has queues enough of its own";

    options.queues = 1;
    const auto memif_of_more = open_one(memif("more.sock") + ",queues=3");
    ASSERT_TRUE(memif_of_more) << memif_of_more.error().what;
    EXPECT_EQ(queues_of(**memif_of_more), 1) << "one thread reads all three";
}

TEST_F(OpenDevice, AsManyQueuesOnASwitch) {
    const NoFlows flows;
    std::vector<DeviceSpec> specs;
    for (const auto* name : {"a.sock", "b.sock"}) specs.push_back(*parse_device_spec(memif(name)));
    const auto device = open_devices(specs, "fabric", {.pool = test::packet_pool(), .queues = 2, .flows = &flows},
                                     [] { return Time{0}; });
    ASSERT_TRUE(device) << device.error().what;
    EXPECT_EQ(queues_of(**device), 2);
}

TEST_F(OpenDevice, AFailureOfOneIsTheAnswer) {
    const auto device = open({memif("a.sock"), "memif:" + (directory / "no/such.sock").string() + ",server"});
    ASSERT_FALSE(device);
    EXPECT_TRUE(device.error().what.starts_with("memif socket ")) << device.error().what;
    EXPECT_FALSE(std::filesystem::exists(directory / "a.sock")) << "nothing is left behind";
}

}  // namespace
}  // namespace verbline::pmd
