// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/flow_rules.h"

#include <gtest/gtest.h>

#include "datapath/wire/ipoib.h"
#include "datapath/wire/text.h"

namespace verbline::pmd::hca {
namespace {

TEST(HcaFlowRules, OfAnAddressLeaveNeighbourDiscoveryToTheKernel) {
    const auto ipv4 = flows_to(wire::ipv4(192, 0, 2, 1));
    ASSERT_EQ(ipv4.size(), 1u);
    EXPECT_EQ(ipv4[0], (FlowMatch{.destination = wire::Ipv4Prefix{wire::ipv4(192, 0, 2, 1), 32}})) << "ARP is no IPv4";
    const auto address = *wire::from_string<wire::Ipv6Address>("fd76::1");
    const auto ipv6 = flows_to(address);
    ASSERT_EQ(ipv6.size(), 2u);
    const wire::Ipv6Prefix destination{address, 128};
    EXPECT_EQ(ipv6[0], (FlowMatch{.destination = destination, .transport = FlowTransport::tcp}));
    EXPECT_EQ(ipv6[1], (FlowMatch{.destination = destination, .transport = FlowTransport::udp}));
}

TEST(HcaFlowRules, OfAGroupNameItsIpv4Address) {
    const wire::PKey pkey{0x8001};
    EXPECT_EQ(flow_of_group(wire::ipoib_multicast_mgid(wire::ipv4(239, 1, 2, 3), pkey)),
              (FlowMatch{.destination = wire::Ipv4Prefix{wire::ipv4(239, 1, 2, 3), 32}}));
    EXPECT_EQ(flow_of_group(wire::ipoib_broadcast_mgid(pkey)), std::nullopt);
    EXPECT_EQ(flow_of_group(wire::ipoib_multicast_mgid(*wire::from_string<wire::Ipv6Address>("ff02::1"), pkey)),
              std::nullopt)
        << "a rule would name the queue pair's number, which is not the destination of multicast";
}

}  // namespace
}  // namespace verbline::pmd::hca
