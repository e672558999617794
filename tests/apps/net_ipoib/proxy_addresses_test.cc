// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/proxy_addresses.h"

#include <gtest/gtest.h>

#include "tests/support/counter.h"

namespace verbline::net_ipoib {
namespace {

using wire::IpoibAddress, wire::MacAddress;

IpoibAddress host_of(std::uint32_t number) {
    return {.qpn = wire::Qpn{0x48}, .gid = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{number})};
}

TEST(ProxyAddresses, GivesEachHostALocalAddressOfItsOwn) {
    ProxyAddresses proxies;
    const auto first = proxies.of(host_of(1)), second = proxies.of(host_of(2));
    EXPECT_TRUE(first.is_new);
    EXPECT_NE(first.mac, second.mac);
    EXPECT_EQ(first.mac.bytes[0] & std::byte{3}, std::byte{2}) << "locally administered, unicast";
    EXPECT_EQ(proxies.find(first.mac), host_of(1));
    EXPECT_EQ(proxies.find(second.mac), host_of(2));
    EXPECT_EQ(proxies.find(MacAddress{}), std::nullopt);
}

TEST(ProxyAddresses, GivesTheSameAddressAgain) {
    ProxyAddresses proxies, after_a_restart;
    const auto mac = proxies.of(host_of(7)).mac;
    after_a_restart.of(host_of(1));
    EXPECT_EQ(after_a_restart.of(host_of(7)).mac, mac);
    EXPECT_FALSE(proxies.of(host_of(7)).is_new);
    EXPECT_EQ(proxies.size(), 1u);
}

TEST(ProxyAddresses, KnowsAHostWithWhateverFlags) {
    ProxyAddresses proxies;
    auto connected = host_of(1);
    connected.flags = IpoibAddress::connected_rc;
    EXPECT_EQ(proxies.of(connected).mac, proxies.of(host_of(1)).mac);
    EXPECT_EQ(proxies.find(proxies.of(host_of(1)).mac), host_of(1));
}

TEST(ProxyAddresses, TellsQueuePairsOfOnePortApart) {
    ProxyAddresses proxies;
    auto other = host_of(1);
    other.qpn = wire::Qpn{0x49};
    EXPECT_NE(proxies.of(host_of(1)).mac, proxies.of(other).mac);
}

TEST(ProxyAddresses, MakesAnotherAddressIfOneIsTaken) {
    ProxyAddresses proxies;
    proxies.reserve(ProxyAddresses::made_of(host_of(1)));
    const auto mac = proxies.of(host_of(1)).mac;
    EXPECT_EQ(mac, ProxyAddresses::made_of(host_of(1), 1));
    EXPECT_NE(mac, ProxyAddresses::made_of(host_of(1)));
    EXPECT_EQ(test::counter(proxies, "proxies_collided"), 1u);
}

TEST(ProxyAddresses, ForgetsTheHostThatWasNotNamedForLongest) {
    ProxyAddresses proxies(2);
    const auto first = proxies.of(host_of(1)).mac, second = proxies.of(host_of(2)).mac;
    proxies.of(host_of(1));
    const auto third = proxies.of(host_of(3));
    EXPECT_EQ(third.forgotten, second);
    EXPECT_EQ(proxies.find(second), std::nullopt);
    EXPECT_EQ(proxies.find(first), host_of(1));
    EXPECT_EQ(proxies.size(), 2u);
    EXPECT_EQ(test::counter(proxies, "proxies_forgotten"), 1u);
}

TEST(ProxyAddresses, StaysBoundedWhateverIsNamed) {
    ProxyAddresses proxies(64);
    for (std::uint32_t i = 0; i < 10'000; ++i) proxies.of(host_of(i));
    EXPECT_EQ(proxies.size(), 64u);
    std::size_t found = 0;
    proxies.each([&](MacAddress mac, const IpoibAddress& address) {
        EXPECT_EQ(proxies.of(address).mac, mac);
        ++found;
    });
    EXPECT_EQ(found, 64u);
}

}  // namespace
}  // namespace verbline::net_ipoib
