// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/device.h"

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "datapath/wire/ethernet.h"
#include "datapath/wire/icmp.h"
#include "datapath/wire/ipv4.h"
#include "pmd/base/clock.h"
#include "pmd/tun/tun.h"
#include "tests/datapath/neighbour/link.h"
#include "tests/support/decorator.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/hex.h"
#include "tests/support/namespace.h"

namespace verbline::neighbour {
namespace {

using test::FakeNetDevice;
using test::Packet;
using test::packet_pool;

struct NeighbourDeviceTest : ::testing::Test {
    NeighbourDeviceTest() {
        auto fake = std::make_unique<FakeNetDevice>();
        inner = fake.get();
        device = std::make_unique<NeighbourDevice>(std::move(fake), us, packet_pool(), [this] { return now; });
    }
    /// What the device lets through.
    std::vector<Packet> receive() {
        std::array<rte_mbuf*, 32> burst;
        const auto n = device->rx_burst(0, burst);
        return {burst.begin(), burst.begin() + n};
    }
    Message last() const { return read_frame(test::bytes_of(inner->sent.back())).message; }

    Time now = 0;
    FakeNetDevice* inner;
    std::unique_ptr<NeighbourDevice> device;
};

TEST(NeighbourDecorator, ForwardsEveryOperation) {
    test::expect_forwards_everything([](std::unique_ptr<pmd::NetDevice> wrapped) {
        return std::make_unique<NeighbourDevice>(std::move(wrapped), us, packet_pool(), [] { return Time{0}; });
    });
}

/// A ping of 10.1.0.1 by 10.1.0.2 with `size` bytes of data.
test::ByteVector ping(std::size_t size, wire::MacAddress to = us) {
    auto bytes = test::pattern(wire::Ethernet::size + wire::Ipv4::size + wire::Icmp::size + size);
    wire::Ethernet{to, them, wire::ether_type::ipv4}.emit(std::span(bytes).first<14>());
    wire::Ipv4{.total_length = static_cast<std::uint16_t>(bytes.size() - wire::Ethernet::size),
               .time_to_live = 3,
               .protocol = wire::IpProtocol::icmp,
               .source = wire::ipv4(10, 1, 0, 2),
               .destination = wire::ipv4(10, 1, 0, 1)}
        .with_checksum()
        .emit(std::span(bytes).subspan<14, 20>());
    const auto icmp = std::span(bytes).subspan(34);
    wire::Icmp{.type = wire::icmp_type::echo, .identifier = 7, .sequence = 9}.emit(icmp.first<8>());
    const auto sum = wire::InternetChecksum().add(icmp).value();
    wire::store16(icmp, 2, sum);
    return bytes;
}

bool is_group_report(wire::Bytes frame) {
    return frame.size() > 38 && wire::load16(frame, 12) == 0x0800 && wire::load8(frame, 23) == 2;  // IGMP
}

TEST_F(NeighbourDeviceTest, ReportsItsGroupsAndAgainWhenQueried) {
    const auto reports = [&] {
        device->tx_burst(0, {});
        std::vector<test::ByteVector> out;
        for (auto& packet : std::exchange(inner->sent, {})) {
            const auto bytes = test::bytes_of(packet);
            if (is_group_report(bytes)) out.emplace_back(bytes.begin(), bytes.end());
        }
        return out;
    };
    device->set_addresses({{gid("10.1.0.1"), 24}});
    EXPECT_TRUE(reports().empty());
    device->join(gid("239.1.2.3"));
    const auto first = reports();
    ASSERT_FALSE(first.empty());
    EXPECT_EQ(wire::Ethernet::parse(first[0])->source, us);
    EXPECT_EQ(wire::load32(first[0], 26), 0x0a010001u) << "from our address";

    now = 20 * second;
    reports();
    EXPECT_TRUE(reports().empty()) << "what is told again has been told";
    // A general query of 10.1.0.9, with the alert option (RFC 2236, 2): answered within the second that it allows.
    inner->receive(test::from_hex(
        "01005e000001 020000000009 0800 46c0 0020 0000 0000 01 02 38fb 0a010009 e0000001 94040000 110a eef5 00000000"));
    EXPECT_TRUE(receive().empty()) << "nobody else's business";
    now += 2 * second;
    EXPECT_EQ(reports().size(), 1u);
    device->leave(gid("239.1.2.3"));
    EXPECT_FALSE(reports().empty());
}

TEST_F(NeighbourDeviceTest, SolicitsWithTheNextBurstAndResolves) {
    device->set_addresses({{gid("10.1.0.1"), 24}});
    receive();
    EXPECT_EQ(inner->sent.size(), 1u) << "the probe";
    device->resolve(gid("10.1.0.2"));
    device->resolve(gid("10.1.0.2"));
    EXPECT_FALSE(device->find(gid("10.1.0.2")));
    device->tx_burst(0, {});
    ASSERT_EQ(inner->sent.size(), 2u);
    EXPECT_EQ(last().subject, gid("10.1.0.2"));
    inner->receive(make_reply(them, gid("10.1.0.2"), gid("10.1.0.1"), us).view());
    EXPECT_TRUE(receive().empty());
    EXPECT_EQ(device->find(gid("10.1.0.2")), them);
}

TEST_F(NeighbourDeviceTest, NotifiesWhenAnAddressIsResolved) {
    device->set_addresses({{gid("10.1.0.1"), 24}});
    unsigned told = 0;
    device->on_answer([&] { ++told; });
    device->resolve(gid("10.1.0.2"));
    receive();
    inner->receive(make_request(them, gid("10.1.0.3"), gid("10.1.0.1")).view());
    receive();
    EXPECT_EQ(told, 0u) << "somebody else";
    inner->receive(make_reply(them, gid("10.1.0.2"), gid("10.1.0.1"), us).view());
    receive();
    EXPECT_EQ(told, 1u);
    inner->receive(make_reply(them, gid("10.1.0.2"), gid("10.1.0.1"), us).view());
    receive();
    EXPECT_EQ(told, 1u) << "once";
}

TEST_F(NeighbourDeviceTest, RepeatsSolicitationsAndNotifiesOfFailures) {
    device->set_addresses({{gid("10.1.0.1"), 24}});
    for (unsigned i = 0; i < 10; ++i, now += second) receive();
    inner->sent.clear();
    unsigned told = 0;
    device->on_answer([&] { ++told; });
    device->resolve(gid("10.1.0.2"));
    EXPECT_TRUE(device->resolving(gid("10.1.0.2"))) << "before the next burst, too";
    for (unsigned i = 0; i < 32; ++i, now += 100 * millisecond) {
        receive();
        EXPECT_TRUE(device->resolving(gid("10.1.0.2")));
    }
    EXPECT_EQ(inner->sent.size(), 4u);
    EXPECT_EQ(told, 0u);
    receive();
    EXPECT_FALSE(device->resolving(gid("10.1.0.2")));
    EXPECT_EQ(told, 1u);
}

TEST_F(NeighbourDeviceTest, NotifiesAtOnceWithoutASourceAddress) {
    unsigned told = 0;
    device->on_answer([&] { ++told; });
    device->resolve(gid("10.1.0.2"));
    receive();
    EXPECT_EQ(told, 1u);
    EXPECT_FALSE(device->resolving(gid("10.1.0.2")));
}

TEST_F(NeighbourDeviceTest, NotifiesAtOnceOfAKnownAddress) {
    device->set_addresses({{gid("10.1.0.1"), 24}});
    inner->receive(make_request(them, gid("10.1.0.2"), gid("10.1.0.1")).view());
    receive();
    unsigned told = 0;
    device->on_answer([&] { ++told; });
    device->resolve(gid("10.1.0.2"));
    receive();
    EXPECT_EQ(told, 1u);
    EXPECT_EQ(last().subject, gid("10.1.0.2")) << "and asks whether it is still there";
}

TEST_F(NeighbourDeviceTest, AnswersAndLetsAllElsePassInOrder) {
    device->set_addresses({{gid("10.1.0.1"), 24}, {gid("fd00::1"), 64}});
    receive();
    inner->sent.clear();
    const auto first = test::pattern(100, 1), second_one = test::pattern(20, 2);
    inner->receive(first);
    inner->receive(make_request(them, gid("10.1.0.2"), gid("10.1.0.1")).view());
    inner->receive(make_request(them, gid("fd00::2"), gid("fd00::1")).view());
    inner->receive(second_one);
    inner->receive(ping(56));
    const auto passed = receive();
    ASSERT_EQ(passed.size(), 2u);
    EXPECT_EQ(test::bytes_of(passed[0]), first);
    EXPECT_EQ(test::bytes_of(passed[1]), second_one);
    EXPECT_EQ(inner->sent.size(), 3u);
}

TEST_F(NeighbourDeviceTest, PingsComeBackWholeWhateverTheirSize) {
    device->set_addresses({{gid("10.1.0.1"), 24}});
    for (const std::size_t size : {0u, 56u, 1001u, 8000u}) {
        receive();
        inner->sent.clear();
        inner->receive(ping(size));
        EXPECT_TRUE(receive().empty());
        ASSERT_EQ(inner->sent.size(), 1u);
        auto bytes = test::bytes_of(inner->sent.front());
        EXPECT_EQ(wire::Ethernet::parse(bytes)->destination, them);
        const auto packet = wire::Bytes(bytes).subspan(wire::Ethernet::size);
        const auto ip = wire::Ipv4::parse(packet);
        ASSERT_TRUE(ip);
        EXPECT_TRUE(wire::Ipv4::checksum_ok(packet.first(20)));
        EXPECT_EQ(ip->source, wire::ipv4(10, 1, 0, 1));
        EXPECT_EQ(ip->time_to_live, 64);
        EXPECT_EQ(wire::InternetChecksum().add(packet.subspan(20)).value(), 0);
        EXPECT_EQ(wire::Icmp::parse(packet.subspan(20))->type, wire::icmp_type::echo_reply);
    }
    inner->receive(ping(56, mac(9)));
    EXPECT_EQ(receive().size(), 1u) << "flooded here, for another";
}

TEST_F(NeighbourDeviceTest, NoRoomToSendIsCounted) {
    device->set_addresses({{gid("10.1.0.1"), 24}});
    inner->tx_room = 0;
    inner->receive(ping(56));
    receive();
    std::uint64_t dropped = 0;
    device->counters([&](std::string_view name, std::uint64_t value, std::string_view) {
        if (name == "neighbour_tx_dropped") dropped = value;
    });
    EXPECT_EQ(dropped, 2u) << "the probe and the reply";
}

TEST_F(NeighbourDeviceTest, LetsItsGroupsIn) {
    device->set_addresses({{gid("fd00::1:2"), 64}});
    const auto has = [&](const char* text) {
        return std::ranges::any_of(inner->groups,
                                   [&](const auto& group) { return wire::to_string(group.mac) == text; });
    };
    EXPECT_TRUE(has("33:33:00:00:00:01"));
    EXPECT_TRUE(has("33:33:ff:00:00:01")) << "link-local";
    EXPECT_TRUE(has("33:33:ff:01:00:02"));
    device->set_addresses({});
    EXPECT_FALSE(has("33:33:ff:01:00:02"));
}

TEST_F(NeighbourDeviceTest, OthersFindAndAskWhileItRuns) {
    device->set_addresses({{gid("10.1.0.1"), 24}});
    std::jthread asker([&] {
        for (unsigned i = 0; i < 20'000; ++i) {
            device->resolve(gid("10.1.0.2"));
            device->find(gid("10.1.0.2"));
        }
    });
    for (unsigned i = 0; i < 2'000; ++i) {
        inner->receive(make_request(them, gid("10.1.0.2"), gid("10.1.0.1")).view());
        receive();
        inner->sent.clear();
    }
    asker.join();
    EXPECT_EQ(device->find(gid("10.1.0.2")), them);
}

/// The kernel is the neighbour: at the other end of a tap.
struct WithKernel : ::testing::Test {
    void SetUp() override {
        SKIP_UNLESS_ROOT();
        space.emplace();
        auto tap = pmd::Tun::create({.name = "tap0", .netns = space->path(), .kind = pmd::TunKind::tap}, packet_pool());
        ASSERT_TRUE(tap) << tap.error().what;
        space->run("ip address add 10.1.0.2/24 dev tap0");
        space->run("ip address add fd00::2/64 dev tap0 nodad");
        device = std::make_unique<NeighbourDevice>(std::move(*tap), us, packet_pool(), monotonic_now);
        ASSERT_TRUE(device->up());
    }
    bool poll_until(const std::function<bool()>& done) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!done()) {
            if (std::chrono::steady_clock::now() > end) return false;
            std::array<rte_mbuf*, 32> burst;
            rte_pktmbuf_free_bulk(burst.data(), device->rx_burst(0, burst));
        }
        return true;
    }

    std::optional<test::Namespace> space;
    std::unique_ptr<NeighbourDevice> device;
};

TEST_F(WithKernel, EachFindsTheOther) {
    device->set_addresses({{gid("10.1.0.1"), 24}, {gid("fd00::1"), 64}});
    for (const auto* them_too : {"10.1.0.2", "fd00::2"}) {
        device->resolve(gid(them_too));
        EXPECT_TRUE(poll_until([&] { return device->find(gid(them_too)).has_value(); })) << them_too;
    }
    EXPECT_FALSE(device->conflict());
    std::atomic<bool> done = false;
    std::jthread user([&] {
        for (const auto* us_too : {"10.1.0.1", "fd00::1"}) {
            for (const auto* size : {"56", "1400"}) {
                space->run(std::string("ping -q -c 3 -i 0.01 -w 10 -s ") + size + " " + us_too + " >/dev/null");
            }
        }
        done = true;
    });
    EXPECT_TRUE(poll_until([&] { return done.load(); }));
}

TEST_F(WithKernel, AnAddressThatTheKernelHasIsAConflict) {
    // The kernel joins its solicited-node group some time after `ip address add`, and only one probe is sent.
    device->set_addresses({{gid("fd00::1"), 64}});
    device->resolve(gid("fd00::2"));
    ASSERT_TRUE(poll_until([&] { return device->find(gid("fd00::2")).has_value(); }));
    for (const auto* taken : {"10.1.0.2", "fd00::2"}) {
        device->set_addresses({{gid(taken), 24}});
        EXPECT_TRUE(poll_until([&] { return device->conflict() == gid(taken); })) << taken;
    }
}

}  // namespace
}  // namespace verbline::neighbour
