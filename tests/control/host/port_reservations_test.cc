// SPDX-License-Identifier: BSD-3-Clause
// Two of these in one program are as strange to each other as two programs are.
#include "control/host/port_reservations.h"

#include <cerrno>
#include <optional>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "datapath/wire/bytes.h"
#include "tests/support/namespace.h"

namespace verbline::host {
namespace {

constexpr std::uint16_t tcp = 0x0106, udp = 0x0111;

struct PortReservationsTest : ::testing::Test {
    PortReservationsTest() {
        wire::store32(mac.bytes, 2, static_cast<std::uint32_t>(getpid()));  // nobody else's
        first.emplace(PortReservations::open(mac).value());
        second.emplace(PortReservations::open(mac).value());
    }
    wire::MacAddress mac{{std::byte{2}, std::byte{0x77}}};
    std::optional<PortReservations> first, second;
};

TEST_F(PortReservationsTest, APortIsOnePrograms) {
    EXPECT_EQ(first->reserve(tcp, 7174), 7174);
    EXPECT_EQ(second->reserve(tcp, 7174).error().code, EADDRINUSE);
    EXPECT_EQ(second->reserve(udp, 7174), 7174) << "in another space";
    EXPECT_EQ(first->reserve(tcp, 7174).error().what, "port 7174 is in use by this program; choose another");
    EXPECT_EQ(second->release(tcp, 7174).error().code, ENOENT) << "another's";
    EXPECT_TRUE(first->release(tcp, 7174));
    EXPECT_EQ(second->reserve(tcp, 7174), 7174);
}

TEST_F(PortReservationsTest, QueryReservesNothing) {
    EXPECT_FALSE(first->elsewhere(tcp, 7174).value());
    EXPECT_EQ(second->reserve(tcp, 7174), 7174);
    EXPECT_TRUE(first->elsewhere(tcp, 7174).value());
    EXPECT_FALSE(first->elsewhere(udp, 7174).value()) << "in another space";
    EXPECT_FALSE(second->elsewhere(tcp, 7174).value()) << "its own";
    EXPECT_TRUE(second->release(tcp, 7174));
    EXPECT_FALSE(first->elsewhere(tcp, 7174).value());
    EXPECT_EQ(first->reserve(tcp, 7174), 7174);
}

TEST_F(PortReservationsTest, PortsOfAnotherAddressAreOthers) {
    EXPECT_EQ(first->reserve(tcp, 7174), 7174);
    mac.bytes[1] = std::byte{0x78};
    auto other = PortReservations::open(mac).value();
    EXPECT_EQ(other.reserve(tcp, 7174), 7174);
}

TEST_F(PortReservationsTest, PortsOfAnotherNetworkNamespaceAreOthers) {
    SKIP_UNLESS_ROOT();
    EXPECT_EQ(first->reserve(tcp, 7174), 7174);
    test::Namespace there;
    there.enter([&] { EXPECT_EQ(PortReservations::open(mac)->reserve(tcp, 7174), 7174); });
}

TEST_F(PortReservationsTest, ReservationsEndWithTheirProcess) {
    EXPECT_EQ(first->reserve(tcp, 7174), 7174);
    first.reset();
    EXPECT_EQ(second->reserve(tcp, 7174), 7174);
    const auto child = fork();
    if (child == 0) {
        auto mine = PortReservations::open(mac);
        _exit(mine && mine->reserve(tcp, 7175) ? 0 : 1);  // and leaves without a word
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(second->reserve(tcp, 7175), 7175);
}

TEST_F(PortReservationsTest, EphemeralPortsAreAllDifferent) {
    std::set<std::uint16_t> seen;
    for (unsigned i = 0; i < 60999 - 32768 + 1; ++i) {
        auto& one = i % 2 != 0 ? *first : *second;
        const auto port = one.reserve(tcp, 0);
        ASSERT_TRUE(port) << port.error().what;
        EXPECT_GE(*port, 32768);
        EXPECT_LE(*port, 60999);
        EXPECT_TRUE(seen.insert(*port).second);
    }
    EXPECT_EQ(first->reserve(tcp, 0).error().code, EADDRINUSE);
    ASSERT_TRUE(first->release(tcp, 40000).has_value() || second->release(tcp, 40000).has_value());
    EXPECT_EQ(first->reserve(tcp, 0), 40000);
}

}  // namespace
}  // namespace verbline::host
