// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/dhcp.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/datapath/wire/golden.h"

namespace verbline::wire {
namespace {

const std::string zeros_256(512, '0'), cookie = "63825363";

Parsed<DhcpOptions> options_of(const std::vector<std::byte>& area) {
    return DhcpOptions::parse(area);
}

TEST(Dhcp, GoldenOfAClientOnIpoib) {
    const auto head = "0120 0000 1b0b1b0b 0000 8000 00000000 00000000 00000000 00000000";
    expect_golden(head + zeros_256.substr(0, 2 * 208) + cookie,
                  Dhcp{.op = DhcpOp::request, .hardware_type = 32, .transaction = 0x1b0b1b0b, .broadcast = true});
}

TEST(Dhcp, GoldenOfARelayedReply) {
    Dhcp reply{.op = DhcpOp::reply,
               .hardware_type = 1,
               .hardware_length = 6,
               .hops = 1,
               .transaction = 0x1b0b1b0b,
               .seconds = 3,
               .client = ipv4(10, 1, 0, 7),
               .your = ipv4(10, 1, 0, 100),
               .server = ipv4(10, 2, 0, 2),
               .relay = ipv4(10, 1, 0, 1)};
    std::ranges::copy(first_machine.bytes, reply.hardware.begin());
    reply.server_name.front() = std::byte{'s'}, reply.file.back() = std::byte{'f'};
    const auto head = "0201 0601 1b0b1b0b 0003 0000 0a010007 0a010064 0a020002 0a010001 5254000e0001";
    expect_golden(head + zeros_256.substr(0, 2 * 10) + "73" + zeros_256.substr(0, 2 * 190) + "66" + cookie, reply);
}

TEST(Dhcp, OtherVendorAreasAreNoOptions) {
    auto bytes = test::from_hex(emitted(Dhcp{.op = DhcpOp::request}));
    bytes[236] = std::byte{0x64};
    EXPECT_EQ(Dhcp::parse(bytes).error(), Malformed::version);
}

TEST(DhcpOptions, AreFoundByTheirCodes) {
    const auto area = test::from_hex("350101 00 3d020708 00 370403010333 ff 3501ee");
    const auto options = options_of(area);
    ASSERT_TRUE(options);
    EXPECT_EQ(options->size(), 15u) << "up to the end option";
    ASSERT_TRUE(options->find(53));
    EXPECT_EQ(test::to_hex(*options->find(53)), "01") << "not what is behind the end";
    EXPECT_EQ(test::to_hex(*options->find(61)), "0708");
    EXPECT_FALSE(options->find(1)) << "a byte within an option is none";
    EXPECT_FALSE(options->find(dhcp_option::pad));
    std::vector<std::size_t> places;
    options->each([&](const DhcpOptions::Option& each) { places.insert(places.end(), {each.at, each.size}); });
    EXPECT_EQ(places, (std::vector<std::size_t>{0, 3, 4, 4, 9, 6}));
}

TEST(DhcpOptions, MayHaveNoEnd) {
    EXPECT_EQ(options_of(test::from_hex("350101"))->size(), 3u);
    EXPECT_EQ(options_of({})->size(), 0u);
    EXPECT_EQ(options_of(test::from_hex("3500"))->find(53)->size(), 0u) << "a value may be empty";
}

TEST(DhcpOptions, RefuseEveryTruncation) {
    const auto area = test::from_hex("350101 3d020708");
    for (const std::size_t whole : {0u, 3u, 7u}) EXPECT_TRUE(DhcpOptions::parse(Bytes(area).first(whole))) << whole;
    for (const std::size_t cut : {1u, 2u, 4u, 5u, 6u})
        EXPECT_EQ(DhcpOptions::parse(Bytes(area).first(cut)).error(), Malformed::truncated) << cut;
}

TEST(RelayAgentOption, HasParts) {
    const auto value = test::from_hex("0203aabbcc 01036c616e");
    EXPECT_EQ(test::to_hex(*relay_agent_part(value, dhcp_option::circuit_id)), "6c616e");
    EXPECT_EQ(test::to_hex(*relay_agent_part(value, 2)), "aabbcc");
    EXPECT_FALSE(relay_agent_part(value, 3));
    for (std::size_t cut = 0; cut < value.size(); ++cut)
        EXPECT_FALSE(relay_agent_part(Bytes(value).first(cut), dhcp_option::circuit_id)) << cut;
}

}  // namespace
}  // namespace verbline::wire
