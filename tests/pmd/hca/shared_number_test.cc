// SPDX-License-Identifier: BSD-3-Clause
// A device beside the kernel's interface, whose queue pair number it shares: it gets what rules name, and nothing else.
#include "pmd/hca/shared_number.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <netinet/in.h>
#include <rte_ethdev.h>

#include "datapath/wire/ipoib.h"
#include "datapath/wire/text.h"
#include "pmd/base/tunables.h"
#include "tests/pmd/hca/devices.h"
#include "tests/pmd/hca/fake_sys.h"

namespace verbline::pmd {
namespace {

using test::ByteVector;
using test::counter;
using test::pattern;

constexpr auto kernels = wire::Qpn{0xa1b};
const auto ipv4_address = wire::ipv4(192, 0, 2, 1);
const auto ipv6_address = *wire::from_string<wire::Ipv6Address>("fd76::1");

struct HcaShared : test::HcaDevices {
    HcaShared() {
        right.port.ethernet = left.port.ethernet = false;
        right.share_error = 0;
        sys.add_interface("ib0", "right0", 0xa1b);
    }

    HcaOptions options() const {
        return {.device = "right0", .beside = "ib0", .sys = sys.path(), .clock = [] { return now; }};
    }
    Error error() {
        const auto device = open(options());
        return device ? Error{0, "none"} : device.error();
    }
    void start() {
        a = started({.device = "left0"});
        b = started(options());
        EXPECT_TRUE(b->take(hca::flows_to(ipv4_address)));
    }

    /// A payload of IPoIB.
    static ByteVector packet(wire::Ipv4Address to_address, int protocol = IPPROTO_TCP) {
        auto bytes = pattern(80);
        bytes[4] = std::byte{0x45};
        bytes[4 + 9] = static_cast<std::byte>(protocol);
        wire::store32(bytes, 4 + 16, static_cast<std::uint32_t>(to_address));
        return bytes;
    }
    static ByteVector packet(const wire::Ipv6Address& to_address, int protocol = IPPROTO_TCP) {
        auto bytes = pattern(80);
        bytes[4] = std::byte{0x60};
        bytes[4 + 6] = static_cast<std::byte>(protocol);
        std::ranges::copy(to_address.bytes, bytes.begin() + 4 + 24);
        return bytes;
    }
    bool takes(const ByteVector& payload) {
        EXPECT_TRUE(send(*a, *b, payload));
        const auto packet = receive(*b);
        return packet != nullptr && test::bytes_of(packet) == payload;
    }

    test::FakeSys sys;
};

TEST_F(HcaShared, ItIsKnownByTheKernelsNumber) {
    start();
    EXPECT_EQ(b->datagram_end()->qpn, kernels);
    EXPECT_EQ(b->capabilities().rx_queues, 1u);
    ASSERT_TRUE(crosses(*b, *a));
    EXPECT_EQ(wire::Qpn{adapters.sent.back().source}, kernels);
}

TEST_F(HcaShared, EachQueueSendsByThatNumber) {
    a = started({.device = "left0"});
    auto wanted = options();
    wanted.queues = 3;
    b = started(wanted);
    const auto end = *a->datagram_end();
    for (std::uint16_t queue = 0; queue < 3; ++queue) {
        ASSERT_TRUE(send(*b, to(end.gid), end.qpn, test::make_packet(pattern(30)), queue));
        EXPECT_TRUE(receive(*a));
        EXPECT_EQ(wire::Qpn{adapters.sent.back().source}, kernels);
    }
}

TEST_F(HcaShared, ItReceivesWhatItTakesAndTheKernelTheRest) {
    start();
    EXPECT_TRUE(takes(packet(ipv4_address)));
    EXPECT_TRUE(takes(packet(ipv4_address, IPPROTO_ICMP)));
    EXPECT_EQ(adapters.to_kernel, 0u);
    EXPECT_FALSE(takes(packet(wire::ipv4(192, 0, 2, 2))));
    EXPECT_FALSE(takes(packet(ipv6_address)));
    EXPECT_FALSE(takes(pattern(60))) << "as ARP";
    EXPECT_EQ(adapters.to_kernel, 3u);
}

TEST_F(HcaShared, NeighbourDiscoveryIsTheKernels) {
    start();
    EXPECT_TRUE(b->take(hca::flows_to(ipv6_address)));
    EXPECT_EQ(adapters.rules(), 2u) << "and the address before is the kernel's again";
    EXPECT_TRUE(takes(packet(ipv6_address, IPPROTO_TCP)));
    EXPECT_TRUE(takes(packet(ipv6_address, IPPROTO_UDP)));
    EXPECT_FALSE(takes(packet(ipv6_address, IPPROTO_ICMPV6)));
    EXPECT_FALSE(takes(packet(ipv4_address)));
}

TEST_F(HcaShared, DownItLeavesAllToTheKernel) {
    start();
    b->down();
    EXPECT_EQ(adapters.rules(), 0u);
    EXPECT_FALSE(takes(packet(ipv4_address)));
    EXPECT_TRUE(b->up());
    EXPECT_EQ(adapters.rules(), 1u);
    EXPECT_TRUE(takes(packet(ipv4_address)));
}

/// The interface of this test's kernel, 7, is none, so that nothing can be joined there.
TEST_F(HcaShared, BroadcastStaysWithTheKernelAndIpv6GroupsCannotBeHad) {
    start();
    EXPECT_FALSE(b->attach_multicast({.mgid = wire::ipoib_broadcast_mgid(wire::PKey{0x8001})}));
    const auto ipv6 = wire::ipoib_multicast_mgid(*wire::from_string<wire::Ipv6Address>("ff02::1"), wire::PKey{0x8001});
    EXPECT_EQ(b->attach_multicast({.mgid = ipv6}).value(), EOPNOTSUPP);
    EXPECT_EQ(counter(*b, "multicast_errors"), 1u);
    EXPECT_EQ(adapters.rules(), 1u);
}

TEST_F(HcaShared, AnIpv4GroupIsARule) {
    sys.write("class/net/ib0/ifindex", "1");  // the loopback interface, which can be a member
    start();
    const MulticastAddress group{.mgid = wire::ipoib_multicast_mgid(wire::ipv4(239, 1, 2, 3), wire::PKey{0x8001})};
    const auto shout = [&] {
        return send(*a, to(group.mgid), wire::multicast_qpn, test::make_packet(packet(wire::ipv4(239, 1, 2, 3))));
    };
    ASSERT_TRUE(shout());
    EXPECT_FALSE(receive(*b));
    ASSERT_FALSE(b->attach_multicast(group));
    ASSERT_TRUE(shout());
    EXPECT_TRUE(receive(*b));
    EXPECT_FALSE(b->detach_multicast(group));
    ASSERT_TRUE(shout());
    EXPECT_FALSE(receive(*b));
}

TEST_F(HcaShared, ItDoesChecksumsIfTheDeviceSaysSo) {
    start();
    EXPECT_EQ(b->capabilities().tx_offloads & RTE_ETH_TX_OFFLOAD_TCP_CKSUM, 0u);
    b.reset();
    right.flags = IBV_DEVICE_UD_IP_CSUM;
    right.verifies = true;
    b = started(options());
    EXPECT_TRUE(b->take(hca::flows_to(ipv4_address)));
    EXPECT_NE(b->capabilities().tx_offloads & RTE_ETH_TX_OFFLOAD_TCP_CKSUM, 0u);
    EXPECT_NE(b->capabilities().rx_offloads & RTE_ETH_RX_OFFLOAD_TCP_CKSUM, 0u);
    ASSERT_TRUE(send(*a, *b, packet(ipv4_address)));
    EXPECT_NE(receive(*b)->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_GOOD, 0u);
    b.reset();
    b = started({.device = "right0"});
    EXPECT_EQ(b->capabilities().tx_offloads & RTE_ETH_TX_OFFLOAD_TCP_CKSUM, 0u) << "a plain queue pair ignores them";
}

TEST_F(HcaShared, TheNumberOutlivesTheDevice) {
    start();
    ASSERT_TRUE(takes(packet(ipv4_address)));
    right.there = false;
    EXPECT_FALSE(b->link_up());
    right.there = true;
    now += tunables::hca_reopen_period;
    EXPECT_FALSE(b->link_up());
    EXPECT_TRUE(b->link_up());
    EXPECT_EQ(b->datagram_end()->qpn, kernels);
    EXPECT_TRUE(takes(packet(ipv4_address)));
}

TEST_F(HcaShared, AFailedQueuePairTakesAgainOnceItIsSetUp) {
    start();
    adapters.break_queue_pairs(right, IBV_WC_LOC_LEN_ERR);
    EXPECT_FALSE(receive(*b));
    EXPECT_TRUE(b->link_up());
    EXPECT_EQ(adapters.rules(), 1u);
    EXPECT_TRUE(takes(packet(ipv4_address)));
}

TEST_F(HcaShared, RulesThatTheDeviceRefusesAreTriedAgain) {
    start();
    right.flow_error = ENOSPC;
    const auto refused = b->take({hca::flows_to(wire::ipv4(192, 0, 2, 2))});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().what,
              "RDMA device right0 has no rule for packets to 192.0.2.2/32: No space left on device");
    right.flow_error = EPERM;
    EXPECT_TRUE(b->take({hca::flows_to(wire::ipv4(192, 0, 2, 2))})
                    .error()
                    .what.ends_with("Operation not permitted; run as root, or with CAP_NET_RAW"));
    EXPECT_EQ(counter(*b, "flow_rule_errors"), 2u);
    right.flow_error = 0;
    EXPECT_TRUE(b->take({hca::flows_to(wire::ipv4(192, 0, 2, 2))}));
    EXPECT_TRUE(takes(packet(wire::ipv4(192, 0, 2, 2))));

    right.flow_error = ENOSPC;
    b->down();
    EXPECT_TRUE(b->up());
    EXPECT_EQ(counter(*b, "flow_rule_errors"), 3u);
    EXPECT_FALSE(takes(packet(wire::ipv4(192, 0, 2, 2))));
    right.flow_error = 0;
    b->down();
    EXPECT_TRUE(b->up());
    EXPECT_TRUE(takes(packet(wire::ipv4(192, 0, 2, 2))));
}

TEST_F(HcaShared, WhatPreventsItIsOneLine) {
    right.share_error = EPERM;
    EXPECT_EQ(error().what,
              "RDMA device right0 does not let us share the number of ib0: Operation not permitted; run as root, or "
              "with CAP_NET_RAW");
    right.share_error = EOPNOTSUPP;  // as rxe
    EXPECT_EQ(error().what,
              "RDMA device right0 does not let us share the number of ib0: Operation not supported; let the port have "
              "a number of its own");
    right.has_extended_calls = false;
    EXPECT_EQ(error().code, EOPNOTSUPP);
    right.queue_error = ENOMEM;
    EXPECT_EQ(error().what, "RDMA device right0: cannot make a completion channel: Cannot allocate memory");
    right.queue_error = 0;
    right.port.ethernet = true;
    EXPECT_EQ(error().what,
              "port 1 of RDMA device right0 cannot share the number of ib0: that takes an InfiniBand port of mlx5");
    right.port.ethernet = false;
    sys.write("class/net/ib0/type", "1");
    EXPECT_TRUE(error().what.starts_with("interface ib0 is no IPoIB interface"));
}

/// mlx4 makes such queue pairs, and they are ordinary ones.
TEST_F(HcaShared, ADriverThatIgnoresTheNumberIsRefused) {
    std::strncpy(right.device.ibdev_path, (sys.path() / "ib").c_str(), sizeof right.device.ibdev_path - 1);
    std::filesystem::create_directories(sys.path() / "ib" / "device");
    std::filesystem::create_symlink("/drivers/mlx4_core", sys.path() / "ib" / "device" / "driver");
    EXPECT_EQ(error().code, EOPNOTSUPP);
    right.device.ibdev_path[0] = '\0';
    EXPECT_EQ(error().code, 0);
}

TEST_F(HcaShared, WithANumberOfItsOwnItTakesNothing) {
    b = started({.device = "right0"});
    EXPECT_EQ(b->take(hca::flows_to(ipv4_address)).error().code, EINVAL);
}

}  // namespace
}  // namespace verbline::pmd
