// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/frame.h"

#include <vector>

#include <gtest/gtest.h>

#include "datapath/wire/arp.h"
#include "datapath/wire/ethernet.h"
#include "tests/datapath/neighbour/link.h"
#include "tests/support/hex.h"

namespace verbline::neighbour {
namespace {

std::vector<std::byte> bytes(const Frame& frame) {
    return {frame.view().begin(), frame.view().end()};
}

TEST(NeighbourFrame, RoundTrip) {
    for (const auto& [a, b] : {std::pair{"10.1.0.1", "10.1.0.2"}, std::pair{"fd00::1", "fd00::2"}}) {
        const auto request = read_frame(make_request(us, gid(a), gid(b)).view());
        EXPECT_EQ(request.kind, Kind::resolution);
        EXPECT_EQ(request.message,
                  (Message{.solicits = true, .source = gid(a), .at = us, .subject = gid(b), .frame_source = us}));

        const auto probe = read_frame(make_request(us, std::nullopt, gid(a)).view());
        EXPECT_TRUE(probe.message.solicits && !probe.message.source);
        EXPECT_EQ(probe.message.subject, gid(a));

        const auto reply = read_frame(make_reply(them, gid(b), gid(a), us).view());
        EXPECT_EQ(reply.message,
                  (Message{.source = gid(b), .at = them, .subject = gid(a), .frame_source = them, .solicited = true}));

        const auto told = read_frame(make_announcement(them, gid(b)).view());
        EXPECT_EQ(told.message, (Message{.source = gid(b), .at = them, .frame_source = them}));
    }
}

TEST(NeighbourFrame, GoesWhereItShould) {
    const auto destination = [](const Frame& frame) { return wire::Ethernet::parse(frame.view())->destination; };
    EXPECT_EQ(destination(make_request(us, gid("10.1.0.1"), gid("10.1.0.2"))), wire::broadcast_mac);
    EXPECT_EQ(wire::to_string(destination(make_request(us, gid("fd00::1"), gid("fd00::12:3456")))),
              "33:33:ff:12:34:56");
    EXPECT_EQ(destination(make_request(us, gid("fd00::1"), gid("fd00::2"), them)), them);
    EXPECT_EQ(destination(make_reply(us, gid("fd00::1"), gid("fd00::2"), them)), them);
    EXPECT_EQ(wire::to_string(destination(make_reply(us, gid("fd00::1"), std::nullopt, them))), "33:33:00:00:00:01");
    EXPECT_EQ(destination(make_announcement(us, gid("10.1.0.1"))), wire::broadcast_mac);
}

TEST(NeighbourFrame, EachFieldThatMayNotBeWhatItIsIsRefused) {
    struct Case {
        const char* what;
        Frame frame;
        std::size_t at;
        unsigned value;
    };
    const auto arp = make_reply(us, gid("10.1.0.1"), gid("10.1.0.2"), them);
    const auto ns = make_request(us, gid("fd00::1"), gid("fd00::2"));
    const auto na = make_reply(us, gid("fd00::1"), gid("fd00::2"), them);
    for (const auto& [what, frame, at, value] :
         std::initializer_list<Case>{{"ARP for another link", arp, 15, 2},
                                     {"ARP addresses of another length", arp, 18, 8},
                                     {"an ARP operation unknown", arp, 21, 3},
                                     {"ARP from a group's MAC address", arp, 22, 3},
                                     {"ARP for a group", arp, 28, 224},
                                     {"ARP in a group's frame", arp, 6, 1},
                                     {"an NS from beyond a router", ns, 21, 254},
                                     {"an NS with a wrong checksum", ns, 56, 1},
                                     {"an NS with another code", ns, 55, 1},
                                     {"an option without length", ns, 79, 0},
                                     {"an option beyond the end", ns, 79, 2},
                                     {"an NS longer than its frame", ns, 19, 40},
                                     {"an NA from beyond a router", na, 21, 64}}) {
        auto broken = bytes(frame);
        ASSERT_EQ(read_frame(broken).kind, Kind::resolution) << what;
        broken[at] = static_cast<std::byte>(value);
        EXPECT_EQ(read_frame(broken).kind, Kind::malformed) << what;
    }
    for (const auto* whole : {&arp, &ns, &na}) {
        const auto needed = whole == &arp ? wire::Ethernet::size + wire::EthernetArp::size : whole->size;
        for (std::size_t size = 0; size < needed; ++size) {
            EXPECT_NE(read_frame(whole->view().first(size)).kind, Kind::resolution) << size;
        }
    }
}

// Captured from Linux: who has fd00::2, of fd00::1.
TEST(NeighbourFrame, AsLinuxWritesIt) {
    const auto linux_ns = test::from_hex(
        "3333ff000002 020000000001 86dd 60000000 0020 3a ff fd000000000000000000000000000001"
        "ff0200000000000000000001ff000002 8700 7d97 00000000 fd000000000000000000000000000002 0101 020000000001");
    auto ours = bytes(make_request(us, gid("fd00::1"), gid("fd00::2")));
    EXPECT_EQ(read_frame(linux_ns).message, read_frame(ours).message);
    EXPECT_EQ(ours, linux_ns);
}

}  // namespace
}  // namespace verbline::neighbour
