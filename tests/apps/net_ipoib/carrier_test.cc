// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/carrier.h"

#include <filesystem>
#include <string>

#include <unistd.h>

#include <gtest/gtest.h>

#include "datapath/link/flow_hash.h"
#include "tests/support/packet.h"

namespace verbline::net_ipoib {
namespace {

struct Carriers : ::testing::Test {
    Carriers() : directory(std::filesystem::temp_directory_path() / ("verbline-carrier-" + std::to_string(getpid()))) {
        std::filesystem::create_directory(directory);
    }
    ~Carriers() override { std::filesystem::remove_all(directory); }

    Arguments memif(unsigned queues) const {
        return parse_arguments("device=[memif:" + (directory / "a.sock").string() +
                               ",server,queues=" + std::to_string(queues) + "],sm=[ibsim:vl,host=H2]")
            .value();
    }
    Carrier open(const Arguments& arguments, std::uint16_t receive, std::uint16_t transmit) {
        return Carrier::open(arguments, {.receive = receive,
                                         .transmit = transmit,
                                         .pools = verbline::test::packet_pool(),
                                         .frame_bytes = 2139,
                                         .flows = &flows})
            .value();
    }

    std::filesystem::path directory;
    link::FrameFlowHash flows{link::FrameFlowHash::random_key()};
};

TEST_F(Carriers, WithTheProgramsQueuesAreAsTheyAre) {
    const auto carrier = open(memif(2), 2, 2);
    EXPECT_EQ(carrier.spreading, nullptr);
    EXPECT_EQ(carrier.device->capabilities().rx_queues, 2);
    EXPECT_FALSE(Carrier::spreads(memif(2), 2));
}

TEST_F(Carriers, WithFewerQueuesAreSpread) {
    const auto carrier = open(memif(1), 3, 2);
    ASSERT_NE(carrier.spreading, nullptr);
    EXPECT_EQ(carrier.device.get(), carrier.spreading);
    EXPECT_EQ(carrier.device->capabilities().rx_queues, 3);
    EXPECT_EQ(carrier.device->rss()->queues.size(), 128u);
    EXPECT_TRUE(Carrier::spreads(memif(1), 3));
}

TEST_F(Carriers, WithMoreQueuesAreReadByThoseThereAre) {
    const auto carrier = open(memif(4), 1, 1);
    ASSERT_NE(carrier.spreading, nullptr);
    EXPECT_EQ(carrier.device->capabilities().rx_queues, 1);
}

TEST_F(Carriers, TransmitQueuesAreShared) {
    const auto carrier = open(memif(1), 1, 4);
    EXPECT_EQ(carrier.spreading, nullptr);
    EXPECT_EQ(carrier.device->capabilities().rx_queues, 1);
    EXPECT_EQ(carrier.device->capabilities().tx_queues, 4);
}

TEST_F(Carriers, WithoutAWireThereAreAsManyAsCanBe) {
    const auto null = parse_arguments("device=null").value();
    EXPECT_EQ(open(null, 16, 16).spreading, nullptr);
    EXPECT_EQ(open(null, 1, 3).spreading, nullptr);
}

}  // namespace
}  // namespace verbline::net_ipoib
