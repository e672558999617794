// SPDX-License-Identifier: BSD-3-Clause
// Two shards, which are the test: they carry out their commands when they are told to.
#include "control/gateway/decorated_device.h"

#include <array>
#include <filesystem>
#include <memory>
#include <string>

#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/control/router/commands.h"
#include "tests/support/counter.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/packet.h"

namespace verbline::gateway {
namespace {

constexpr auto port = forward::InterfaceId{3};

struct DecoratedDeviceTest : testing::Test {
    ~DecoratedDeviceTest() override {
        for (const auto* name : {"all", "one", "two"}) std::filesystem::remove(path(name));
    }
    static std::string path(const std::string& name) {
        return std::filesystem::temp_directory_path() / ("verbline-" + std::to_string(getpid()) + "-" + name);
    }
    static std::unique_ptr<pmd::CaptureFile> file(const std::string& name) {
        return std::move(*pmd::CaptureFile::create(path(name)));
    }
    static std::size_t size(const std::string& name) { return std::filesystem::file_size(path(name)); }

    /// The shard carries out the next command about the device; what it has then.
    pmd::NetDevice* obey(std::size_t shard) {
        const auto command = test::next<router::SetDevice>((*links)[shard]);
        if (!command) return nullptr;
        EXPECT_EQ(command->port, port);
        command->left->fetch_sub(1);
        return command->device;
    }
    static void send(pmd::NetDevice& device) {
        auto* packet = test::make_packet(test::pattern(60)).release();
        if (device.tx_burst(0, std::span(&packet, 1)) != 1) rte_pktmbuf_free(packet);
    }
    /// A poll of the only queue.
    static void poll(pmd::NetDevice& device) {
        std::array<rte_mbuf*, pmd::max_burst> burst;
        rte_pktmbuf_free_bulk(burst.data(), device.rx_burst(0, burst));
        device.tx_burst(0, {});
    }

    std::unique_ptr<control::Loop> loop = std::move(*control::Loop::create());
    std::unique_ptr<router::ShardLinks> links =
        std::move(*router::ShardLinks::create(*loop, "decorated", 2, [](const router::Event&) {}));
    DecoratedDevice::Shards shards{*links, port};
    std::shared_ptr<test::FakeNetDevice> fake = std::make_shared<test::FakeNetDevice>();
};

TEST_F(DecoratedDeviceTest, ShardsUseADeviceWithoutDecoratorsItself) {
    DecoratedDevice device("lan", fake, nullptr);
    EXPECT_EQ(&device.device(), fake.get());
    EXPECT_EQ(&device.decorated(), fake.get());
    device.impair(std::nullopt, shards);
    device.capture(nullptr, shards);
    EXPECT_EQ(obey(0), nullptr) << "nothing has changed";
}

TEST_F(DecoratedDeviceTest, ACaptureBeginsChangesAndEnds) {
    DecoratedDevice device("lan", fake, nullptr);
    device.capture(file("one"), shards);
    auto* const first = &device.decorated();
    EXPECT_EQ(obey(0), first);
    EXPECT_EQ(obey(1), first);
    send(*first);
    device.upkeep(shards);
    EXPECT_EQ(device.retired(), 0u);
    const auto one = size("one");

    device.capture(file("two"), shards);
    auto* const second = obey(0);
    EXPECT_EQ(second, &device.decorated());
    send(*second);
    send(*first);  // by the other shard, which has not heard of it
    device.upkeep(shards);
    EXPECT_EQ(device.retired(), 1u);
    EXPECT_EQ(obey(1), second);
    device.upkeep(shards);
    EXPECT_EQ(device.retired(), 0u);
    EXPECT_GT(size("one"), one) << "complete, with what the last shard has captured";
    EXPECT_EQ(size("two"), one) << "a packet and its interface";

    device.capture(nullptr, shards);
    EXPECT_EQ(obey(0), fake.get());
    EXPECT_EQ(obey(1), fake.get());
    device.upkeep(shards);
    EXPECT_EQ(device.file(), nullptr);
    EXPECT_EQ(fake.use_count(), 3) << "the test, and the owner twice: no decorator is left";
}

TEST_F(DecoratedDeviceTest, AnImpairmentBeginsBelowACaptureAndEndsWhenItHoldsNothing) {
    const auto all = file("all");
    DecoratedDevice device("lan", fake, all.get());
    send(device.decorated());
    device.impair(pmd::parse_impairments("loss=1").value(), shards);
    auto* const impaired = obey(0);
    EXPECT_EQ(obey(1), impaired);
    send(*impaired);
    EXPECT_EQ(fake->sent.size(), 1u);
    EXPECT_EQ(test::counter(device.decorated(), "captured"), 2u) << "what was sent, though it got lost; counted on";
    device.upkeep(shards);
    EXPECT_EQ(device.retired(), 0u);

    device.impair(pmd::parse_impairments("delay=50ms").value(), shards);
    EXPECT_EQ(obey(0), nullptr) << "it changes in place";
    send(*impaired);
    device.impair(std::nullopt, shards);
    poll(*impaired);
    device.upkeep(shards);
    EXPECT_EQ(obey(0), nullptr) << "a packet is held back";
    while (fake->sent.size() < 2) poll(*impaired);
    device.upkeep(shards);
    auto* const plain = obey(0);
    EXPECT_NE(plain, impaired);
    EXPECT_EQ(obey(1), plain);
    device.upkeep(shards);
    EXPECT_EQ(device.retired(), 0u);
    EXPECT_EQ(test::counter(*plain, "captured"), 3u);
    EXPECT_EQ(fake.use_count(), 3) << "the test, the owner and the capture";
}

TEST_F(DecoratedDeviceTest, AnImpairmentThatEndsMayBeginAgain) {
    DecoratedDevice device("lan", fake, nullptr);
    device.impair(pmd::parse_impairments("loss=1").value());
    auto* const impaired = &device.decorated();
    device.impair(std::nullopt, shards);
    device.impair(pmd::parse_impairments("loss=1").value(), shards);
    poll(*impaired);
    device.upkeep(shards);
    EXPECT_EQ(&device.decorated(), impaired);
    send(*impaired);
    EXPECT_TRUE(fake->sent.empty());
}

}  // namespace
}  // namespace verbline::gateway
