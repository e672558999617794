// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/port_facts.h"

#include <array>

#include <gtest/gtest.h>

namespace verbline::mad {
namespace {

PortFacts up() {
    return {.lid = wire::Lid{3},
            .sm_lid = wire::Lid{1},
            .guid = wire::Guid{0x10},
            .pkeys = {wire::PKey{0xffff}},
            .state = wire::PortState::active,
            .mtu = 2048};
}

TEST(PortFacts, ParsesPortInfo) {
    PortFacts facts;
    apply({.gid_prefix = 0xfec0'0000'0000'0001,
           .lid = wire::Lid{7},
           .sm_lid = wire::Lid{2},
           .state = wire::PortState::armed,
           .lmc = 1,
           .neighbour_mtu = wire::IbMtu::bytes_4096,
           .sm_service_level = 3},
          facts);
    EXPECT_EQ(facts.lid, wire::Lid{7});
    EXPECT_EQ(facts.sm_lid, wire::Lid{2});
    EXPECT_EQ(facts.sm_sl, 3);
    EXPECT_EQ(facts.lmc, 1);
    EXPECT_EQ(facts.mtu, 4096);
    EXPECT_EQ(facts.subnet_prefix, 0xfec0'0000'0000'0001);
    EXPECT_FALSE(facts.active());
}

TEST(PortFacts, APrefixNotYetSetIsTheDefaultOne) {
    PortFacts facts;
    apply({.gid_prefix = 0}, facts);
    EXPECT_EQ(facts.subnet_prefix, wire::default_subnet_prefix);
}

TEST(PortFacts, ReadsAPKeyTableAndIgnoresAHalfEntry) {
    PortFacts facts;
    constexpr std::array block{std::byte{0xff}, std::byte{0xff}, std::byte{0x80}, std::byte{0x01}, std::byte{0x7f}};
    append_pkeys(block, facts);
    EXPECT_EQ(facts.pkeys, (std::vector{wire::PKey{0xffff}, wire::PKey{0x8001}}));
}

TEST(PortFacts, FirstReadReportsNoChanges) {
    EXPECT_TRUE(changes({}, up()).empty());
}

TEST(PortFacts, EachChangeIsReportedOnceDownFirstUpLast) {
    auto now = up();
    EXPECT_TRUE(changes(up(), now).empty());
    now.state = wire::PortState::down;
    now.lid = wire::Lid{4};
    EXPECT_EQ(changes(up(), now), (std::vector{PortEvent::port_down, PortEvent::lid_change}));
    EXPECT_EQ(changes(now, up()), (std::vector{PortEvent::lid_change, PortEvent::port_up}));
    now = up();
    now.sm_lid = wire::Lid{9};
    now.pkeys.push_back(wire::PKey{0x8001});
    now.guid = wire::Guid{0x11};
    EXPECT_EQ(changes(up(), now), (std::vector{PortEvent::gid_change, PortEvent::sm_change, PortEvent::pkey_change}));
    now = up();
    now.sm_sl = 1;
    EXPECT_EQ(changes(up(), now), (std::vector{PortEvent::sm_change}));
}

}  // namespace
}  // namespace verbline::mad
