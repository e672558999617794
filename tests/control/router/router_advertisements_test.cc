// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/router_advertisements.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/wire/icmpv6.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/text.h"

namespace verbline::router {
namespace router_advertisements_test {
namespace {

using neighbour::AdvertisedPrefix;
using neighbour::Advertisement;
using neighbour::Solicitation;

AdvertisedPrefix prefix(const char* text) {
    return {.prefix = wire::from_string<wire::Ipv6Prefix>(text).value()};
}
Advertisement advertisement(std::vector<AdvertisedPrefix> prefixes) {
    return {.source = wire::from_string<wire::Ipv6Address>("fe80::1").value(), .prefixes = std::move(prefixes)};
}

struct Heard {
    std::uint16_t router_lifetime = 0;
    std::map<wire::Ipv6Address, std::pair<std::uint32_t, std::uint32_t>> lifetimes;  ///< valid, preferred by network
};

Heard read(const std::vector<std::byte>& packet) {
    const auto icmp = wire::Bytes(packet).subspan(wire::Ipv6::size);
    Heard heard{.router_lifetime = wire::RouterAdvertisement::parse(icmp)->lifetime};
    for (auto options = icmp.subspan(wire::RouterAdvertisement::size); !options.empty();) {
        if (const auto each = wire::NdPrefix::parse(options))
            heard.lifetimes[each->prefix] = {each->valid, each->preferred};
        options = options.subspan(wire::load8(options, 1) * 8u);
    }
    return heard;
}

class RouterAdvertisementsTest : public testing::Test {
protected:
    std::uint64_t counter(std::string_view wanted) const {
        std::uint64_t found = 0;
        advertisements.counters([&](std::string_view name, std::uint64_t value, std::string_view) {
            if (name == wanted) found = value;
        });
        return found;
    }
    /// Lifetimes of a network in the last advertisement; none: it was not in there.
    std::optional<std::pair<std::uint32_t, std::uint32_t>> last(const char* network) const {
        const auto& lifetimes = sent.back().lifetimes;
        const auto found = lifetimes.find(wire::from_string<wire::Ipv6Address>(network).value());
        return found == lifetimes.end() ? std::nullopt : std::optional(found->second);
    }

    const std::pair<std::uint32_t, std::uint32_t> usual{AdvertisedPrefix{}.valid, AdvertisedPrefix{}.preferred};
    const std::pair<std::uint32_t, std::uint32_t> ended{0, 0};
    std::unique_ptr<control::Loop> loop = std::move(*control::Loop::create());
    std::vector<Heard> sent;
    RouterAdvertisements advertisements{*loop, [this](auto packet) { sent.push_back(read(packet)); }};
};

TEST_F(RouterAdvertisementsTest, AdvertisesAtOnce) {
    advertisements.set(advertisement({prefix("fd76:1::/64")}));
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0].router_lifetime, Advertisement{}.lifetime);
    EXPECT_EQ(last("fd76:1::"), usual);
    EXPECT_EQ(counter("nd_tx_router_advertisements"), 1U);
}

TEST_F(RouterAdvertisementsTest, SendsNothingForTheSameContent) {
    advertisements.set(advertisement({}));
    advertisements.set(advertisement({}));
    EXPECT_EQ(sent.size(), 1U);
}

TEST_F(RouterAdvertisementsTest, CountsSolicitations) {
    advertisements.received(Solicitation::valid);
    EXPECT_EQ(counter("nd_rx_dropped_not_advertising"), 1U);
    EXPECT_EQ(counter("nd_rx_dropped_router_solicitations"), 0U) << "hosts ask before the router has started, too";
    advertisements.set(advertisement({}));
    advertisements.received(Solicitation::valid);
    advertisements.received(Solicitation::malformed);
    EXPECT_EQ(counter("nd_rx_router_solicitations"), 1U);
    EXPECT_EQ(counter("nd_rx_dropped_router_solicitations"), 1U);
}

TEST_F(RouterAdvertisementsTest, RetiresWithALifetimeOfZero) {
    advertisements.retire();
    EXPECT_TRUE(sent.empty()) << "no host knows of it";
    advertisements.set(advertisement({prefix("fd76:1::/64")}));
    advertisements.retire();
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(sent[1].router_lifetime, 0);
    EXPECT_EQ(last("fd76:1::"), usual) << "the network is still there";
}

TEST_F(RouterAdvertisementsTest, WithdrawsAPrefixThatIsGone) {
    advertisements.set(advertisement({prefix("fd76:1::/64"), prefix("fd76:2::/64")}));
    advertisements.set(advertisement({prefix("fd76:2::/64")}));
    advertisements.retire();  // the next advertisement, without waiting for its time
    EXPECT_EQ(last("fd76:1::"), ended);
    EXPECT_EQ(last("fd76:2::"), usual);
}

TEST_F(RouterAdvertisementsTest, WithdrawsAPrefixThatWentWhileTheLinkWasDown) {
    advertisements.set(advertisement({prefix("fd76:1::/64")}));
    advertisements.set(std::nullopt);
    advertisements.set(advertisement({}));
    advertisements.retire();
    EXPECT_EQ(last("fd76:1::"), ended);
}

TEST_F(RouterAdvertisementsTest, WithdrawsNoPrefixWhoseNewAddressIsProbedFor) {
    const auto network = prefix("fd76:1::/64");
    advertisements.set(advertisement({network}));
    advertisements.set(advertisement({}), {network.prefix});
    advertisements.retire();
    EXPECT_EQ(last("fd76:1::"), std::nullopt) << "neither renewed nor withdrawn";
    advertisements.set(advertisement({}));
    advertisements.retire();
    EXPECT_EQ(last("fd76:1::"), ended) << "another host has that address";
}

TEST_F(RouterAdvertisementsTest, WithdrawsThreeTimesOnly) {
    advertisements.set(advertisement({prefix("fd76:1::/64")}));
    advertisements.set(advertisement({}));
    for (int n = 0; n < 3; ++n) {
        advertisements.retire();
        EXPECT_EQ(last("fd76:1::"), ended) << n;
        advertisements.set(advertisement({}));
    }
    advertisements.retire();
    EXPECT_EQ(last("fd76:1::"), std::nullopt);
}

TEST_F(RouterAdvertisementsTest, WithdrawsNoPrefixThatIsBack) {
    advertisements.set(advertisement({prefix("fd76:1::/64")}));
    advertisements.set(advertisement({}));
    advertisements.set(advertisement({prefix("fd76:1::/64")}));
    advertisements.retire();
    EXPECT_EQ(last("fd76:1::"), usual);
}

}  // namespace
}  // namespace router_advertisements_test
}  // namespace verbline::router
