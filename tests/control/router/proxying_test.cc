// SPDX-License-Identifier: BSD-3-Clause
// Two Ethernet ports of one subnet; their shards and devices are the test.
#include "control/router/proxying.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/router/ethernet_port.h"
#include "datapath/link/ip_gid.h"
#include "datapath/neighbour/arp.h"
#include "datapath/wire/arp.h"
#include "datapath/wire/ethernet.h"
#include "tests/control/router/commands.h"
#include "tests/support/counter.h"
#include "tests/support/fake_netdev.h"
#include "tests/support/packet.h"

namespace verbline::router::over_proxying {
namespace {

using testing::ElementsAre;
using wire::ipv4;

constexpr wire::MacAddress mac(unsigned n) {
    return {{std::byte{2}, {}, {}, {}, {}, static_cast<std::byte>(n)}};
}
constexpr wire::MacAddress asker = mac(10), host = mac(20);
constexpr auto asker_address = ipv4(10, 9, 0, 10), host_address = ipv4(10, 9, 0, 20);

class ProxyingTest : public testing::Test {
protected:
    ProxyingTest() {
        for (unsigned i = 0; i < 2; ++i) {
            ports.push_back(std::make_unique<EthernetPort>(
                *loop, *shards,
                ControlPort::Setup{
                    .id = forward::InterfaceId(i), .name = "p", .device = &devices[i], .pool = test::packet_pool()},
                mac(i + 1)));
            ports[i]->set_addresses({{link::gid_of(ipv4(10, 9, 0, i + 1)), 24}});
            proxying.add(*ports[i]);
            ports[i]->set_carrier(true);
        }
        test::forget_commands(*shard);
    }
    ~ProxyingTest() override { test::forget_commands(*shard); }

    void hear(unsigned port, const wire::EthernetArp& arp) {
        test::ByteVector bytes(wire::EthernetArp::size);
        arp.emit(std::span(bytes).first<wire::EthernetArp::size>());
        ports[port]->handle(Punted{ports[port]->id(), wire::ether_type::arp, test::make_packet(bytes).release()});
    }
    /// ARP that was sent by a port since the last call.
    std::vector<wire::EthernetArp> sent(unsigned port) {
        std::vector<wire::EthernetArp> found;
        for (std::size_t i = 0; i < waiting.size();) {
            if (waiting[i].first != port) {
                ++i;
                continue;
            }
            found.push_back(waiting[i].second);
            waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
        }
        while (const auto transmit = test::next<Transmit>(*shard)) {
            const test::Packet packet(transmit->packet);
            const auto arp = wire::EthernetArp::parse(test::bytes_of(packet));
            if (!arp) continue;
            if (static_cast<unsigned>(transmit->port) == port) {
                found.push_back(*arp);
            } else {
                waiting.emplace_back(static_cast<unsigned>(transmit->port), *arp);
            }
        }
        return found;
    }
    static wire::EthernetArp request(wire::Ipv4Address target) {
        return {
            .operation = wire::ArpOperation::request, .sender_link = asker, .sender = asker_address, .target = target};
    }

    std::unique_ptr<control::Loop> loop = std::move(*control::Loop::create());
    std::unique_ptr<ShardLinks> shards = std::move(*ShardLinks::create(*loop, "test", 1, [](const Event&) {}));
    ShardLink* shard = &(*shards)[0];
    std::array<test::FakeNetDevice, 2> devices;
    std::vector<std::unique_ptr<EthernetPort>> ports;
    std::vector<std::string> routes;
    Proxying proxying{*loop, [this](bool add, forward::InterfaceId port, const wire::Gid& address) {
                          routes.push_back((add ? "+" : "-") + std::to_string(static_cast<unsigned>(port)) + " " +
                                           std::to_string(std::to_integer<unsigned>(address.bytes[15])));
                          return true;
                      }};
    std::vector<std::pair<unsigned, wire::EthernetArp>> waiting;
};

TEST_F(ProxyingTest, FindsAHostAndAnswersForIt) {
    hear(0, request(host_address));
    const auto asked = sent(1);
    ASSERT_EQ(asked.size(), 1U) << "on the other link";
    EXPECT_EQ(asked[0].target, host_address);
    EXPECT_EQ(sent(0).size(), 1U) << "and on its own, where the host may be";

    hear(1, {.operation = wire::ArpOperation::reply,
             .sender_link = host,
             .sender = host_address,
             .target_link = mac(2),
             .target = ipv4(10, 9, 0, 2)});
    EXPECT_THAT(routes, ElementsAre("+1 20"));
    const auto answer = sent(0);
    ASSERT_FALSE(answer.empty());
    EXPECT_EQ(answer[0].operation, wire::ArpOperation::reply);
    EXPECT_EQ(answer[0].sender, host_address);
    EXPECT_EQ(answer[0].sender_link, mac(1)) << "at our own MAC address";
    EXPECT_EQ(answer[0].target_link, asker);
    EXPECT_EQ(test::counter(proxying, "proxy_answers"), 1U);
}

TEST_F(ProxyingTest, LeavesAHostToAnswerOnItsOwnLink) {
    hear(0, request(host_address));
    sent(0);
    hear(0, {.operation = wire::ArpOperation::reply,
             .sender_link = host,
             .sender = host_address,
             .target_link = mac(1),
             .target = ipv4(10, 9, 0, 1)});
    EXPECT_TRUE(sent(0).empty());
    hear(0, request(host_address));
    EXPECT_TRUE(sent(0).empty());
    EXPECT_EQ(test::counter(proxying, "proxy_answers"), 0U);
}

TEST_F(ProxyingTest, HasNoRouteByALinkThatIsDown) {
    hear(0, request(host_address));
    hear(1, {.operation = wire::ArpOperation::reply,
             .sender_link = host,
             .sender = host_address,
             .target_link = mac(2),
             .target = ipv4(10, 9, 0, 2)});
    ports[1]->set_carrier(false);
    EXPECT_THAT(routes, ElementsAre("+1 20", "-1 20"));
    sent(0), sent(1);
    hear(0, request(host_address));
    EXPECT_EQ(sent(1).size(), 0U);
}

TEST_F(ProxyingTest, AnswersForTheOtherPortsOwnAddress) {
    hear(0, request(ipv4(10, 9, 0, 2)));
    const auto answer = sent(0);
    ASSERT_FALSE(answer.empty());
    EXPECT_EQ(answer[0].sender, ipv4(10, 9, 0, 2));
}

TEST_F(ProxyingTest, AnswersOnNoPortThatIsRemoved) {
    const auto is_at = [&](unsigned port) {
        hear(port, {.operation = wire::ArpOperation::reply,
                    .sender_link = host,
                    .sender = host_address,
                    .target_link = mac(port + 1),
                    .target = ipv4(10, 9, 0, port + 1)});
    };
    hear(0, request(host_address));
    is_at(1);
    proxying.remove(*ports[1]);
    proxying.remove(*ports[1]);
    EXPECT_THAT(routes, ElementsAre("+1 20", "-1 20"));
    sent(0), sent(1);
    hear(0, request(host_address));
    is_at(1);
    EXPECT_TRUE(sent(0).empty());
    EXPECT_EQ(routes.size(), 2u);
    proxying.add(*ports[1]);
    proxying.add(*ports[1]);
    hear(0, request(host_address));
    is_at(1);
    EXPECT_FALSE(sent(0).empty()) << "and again when it is back";
    EXPECT_EQ(routes.back(), "+1 20");
}

}  // namespace
}  // namespace verbline::router::over_proxying
