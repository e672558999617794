// SPDX-License-Identifier: BSD-3-Clause
// What a port offers to connection managers, on a link that nobody else is on.
#include "apps/libibverbs/port/port.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include "apps/libibverbs/objects/context.h"
#include "datapath/link/ip_gid.h"
#include "pmd/base/clock.h"
#include "pmd/base/event_descriptor.h"
#include "tests/support/verbs_device.h"

namespace verbline::verbs {
namespace {

constexpr std::uint16_t tcp = 0x0106;

struct PortTest : test::VerbsTest {
    VerbsPort& port() { return Context::of(context).port(); }
    const wire::Gid ours = link::gid_of(wire::ipv4(10, 9, 0, 1)), stranger = link::gid_of(wire::ipv4(10, 9, 0, 2));
};

TEST_F(PortTest, AMadToOurselvesComesBackAndSignals) {
    auto* const gsi = port().gsi().value();
    EXPECT_EQ(port().gsi().value(), gsi) << "one for all";
    const auto event = EventDescriptor::make();
    gsi->on_ready([&] { event.signal(); });
    std::size_t received = 0;
    gsi->receive(wire::MadClass::communication, [&](std::span<const mad::GmpArrival> burst) {
        EXPECT_EQ(burst.front().from.path.address.dgid, ours);
        EXPECT_EQ(burst.front().from.path.gid_index, test::gid_index);
        received += burst.size();
    });
    mad::MadBuffer mad{};
    wire::Mad{.management_class = wire::MadClass::communication}.emit(std::span(mad).first<wire::Mad::size>());
    for (unsigned round = 1; round <= 3; ++round) {
        gsi->send({.path = {.gid_index = test::gid_index, .address = {.global = true, .dgid = ours}, .mac = {}}}, mad);
        pollfd one{.fd = event.get(), .events = POLLIN, .revents = 0};
        ASSERT_EQ(poll(&one, 1, 10'000), 1);
        event.drain();
        EXPECT_EQ(gsi->drain(), 1u);
        EXPECT_EQ(received, round);
    }
    gsi->on_ready({});
    gsi->receive(wire::MadClass::communication, {});
}

TEST_F(PortTest, AnyThreadSends) {
    auto* const gsi = port().gsi().value();
    std::array<std::atomic<unsigned>, 3> received{};
    gsi->receive(wire::MadClass::communication, [&](std::span<const mad::GmpArrival> burst) {
        for (const auto& each : burst) ++received.at(static_cast<std::size_t>(each.header.transaction));
    });
    constexpr unsigned each = 2000;
    std::atomic<unsigned> running{received.size()};
    std::vector<std::jthread> senders;
    for (std::size_t number = 0; number < received.size(); ++number) {
        senders.emplace_back([&, number] {
            mad::MadBuffer mad{};
            wire::Mad{.management_class = wire::MadClass::communication, .transaction = number}.emit(
                std::span(mad).first<wire::Mad::size>());
            const mad::GmpPeer to{
                .path = {.gid_index = test::gid_index, .address = {.global = true, .dgid = ours}, .mac = {}}};
            for (unsigned i = 0; i < each; ++i) {
                gsi->send(to, mad);
                // No more than its share of the receive buffers: what finds none is lost, as on any link.
                while (i + 1 - received[number] >= mad::Gsi::slots / received.size()) std::this_thread::yield();
            }
            --running;
        });
    }
    while (running != 0) {
        port().progress().drive();
        gsi->drain();
    }
    senders.clear();
    const auto sum = [&] { return received[0] + received[1] + received[2]; };
    for (const auto until = monotonic_now() + 10 * second; sum() != 3 * each && monotonic_now() < until;) {
        port().progress().drive();
        gsi->drain();
    }
    for (const auto& count : received) EXPECT_EQ(count, each);
    gsi->receive(wire::MadClass::communication, {});
}

TEST_F(PortTest, NextHopsWithoutResolution) {
    EXPECT_EQ(port().next_hop(test::gid_index, ours), port().link().mac);
    const auto group = port().next_hop(test::gid_index, link::gid_of(wire::ipv4(239, 1, 2, 3)));
    ASSERT_TRUE(group);
    EXPECT_TRUE(group->multicast());
    EXPECT_FALSE(port().next_hop(test::gid_index, stranger));
    port().ask_next_hop(test::gid_index, stranger);
    EXPECT_FALSE(port().next_hop(99, ours)) << "not an address of ours";
}

TEST_F(PortTest, PortNumbersAreReservedOnce) {
    const auto any = port().ports().reserve(tcp, 0);
    ASSERT_TRUE(any) << any.error().what;
    EXPECT_EQ(port().ports().reserve(tcp, *any).error().code, EADDRINUSE);
    EXPECT_TRUE(port().ports().release(tcp, *any));
    EXPECT_EQ(port().ports().reserve(tcp, *any), *any);
    EXPECT_TRUE(port().ports().release(tcp, *any));
    EXPECT_EQ(port().ports().release(tcp, *any).error().code, ENOENT);
}

}  // namespace
}  // namespace verbline::verbs
