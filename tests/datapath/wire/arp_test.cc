// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/arp.h"

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

TEST(Arp, GoldenOverEthernet) {
    expect_golden("0001 0800 06 04 0002 5254000e0001 0a4d0001 5254000e0002 0a4d0002",
                  EthernetArp{.operation = ArpOperation::reply,
                              .sender_link = first_machine,
                              .sender = ipv4(10, 77, 0, 1),
                              .target_link = second_machine,
                              .target = ipv4(10, 77, 0, 2)});
}

TEST(Arp, GoldenOverInfiniband) {
    const IpoibAddress sender{.qpn = Qpn{0x404}, .gid = Gid::of(default_subnet_prefix, Guid{0x10'0003})};
    static_assert(IpoibArp::size == 56);
    expect_golden(
        "0020 0800 14 04 0001 00000404 fe80000000000000 0000000000100003 0a020001"
        "00000000 0000000000000000 0000000000000000 0a020007",
        IpoibArp{.operation = ArpOperation::request,
                 .sender_link = sender,
                 .sender = ipv4(10, 2, 0, 1),
                 .target = ipv4(10, 2, 0, 7)});
}

TEST(Arp, OneKindIsNotTakenForTheOther) {
    const auto ethernet = test::from_hex(emitted(EthernetArp{}) + std::string(100, '0'));
    EXPECT_EQ(IpoibArp::parse(ethernet).error(), Malformed::version);
    const auto infiniband = test::from_hex(emitted(IpoibArp{}));
    EXPECT_EQ(EthernetArp::parse(infiniband).error(), Malformed::version);
}

TEST(Arp, RefusesLengthsThatContradictTheTypes) {
    auto bytes = test::from_hex(emitted(EthernetArp{}));
    bytes[4] = std::byte{20};
    EXPECT_EQ(EthernetArp::parse(bytes).error(), Malformed::length);
}

}  // namespace
}  // namespace verbline::wire
