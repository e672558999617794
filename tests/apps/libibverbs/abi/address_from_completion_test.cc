// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/abi/address_from_completion.h"

#include <bit>
#include <cstring>

#include <gtest/gtest.h>

#include "datapath/link/ip_gid.h"
#include "tests/apps/libibverbs/abi/fake_device.h"
#include "tests/support/receive_area.h"

namespace verbline::verbs {
namespace {

using test::FakeDevice;
using namespace verbline::test::receive_area;

struct AddressFromCompletion : testing::Test {
    FakeDevice device;
    ibv_pd pd{.context = &device.context};
    ibv_wc completion{};
    ibv_ah_attr attributes{};

    AddressFromCompletion() {
        // As RoCE has it, with a hole: link-local v1 and v2, an IPv4 address v1 and v2.
        device.table_size = 5;
        add(0, gid(1), IBV_GID_TYPE_ROCE_V1);
        add(1, gid(1), IBV_GID_TYPE_ROCE_V2);
        add(3, link::gid_of(ours), IBV_GID_TYPE_ROCE_V1);
        add(4, link::gid_of(ours), IBV_GID_TYPE_ROCE_V2);
        completion.wc_flags = IBV_WC_GRH;
    }
    void add(std::uint32_t index, const wire::Gid& entry, ibv_gid_type type) {
        device.gids[index] = {
            .gid = std::bit_cast<ibv_gid>(entry), .gid_index = index, .port_num = 1, .gid_type = std::uint32_t(type)};
    }
    int init(Area area) {
        errno = 0;
        return ibv_init_ah_from_wc(&device.context, 1, &completion, reinterpret_cast<ibv_grh*>(area.data()),
                                   &attributes);
    }
};

TEST_F(AddressFromCompletion, WithoutGrhThereIsALid) {
    completion = {.wc_flags = 0, .slid = 7, .sl = 3, .dlid_path_bits = 1};
    ASSERT_EQ(ibv_init_ah_from_wc(&device.context, 1, &completion, nullptr, &attributes), 0);
    EXPECT_EQ(attributes.is_global, 0);
    EXPECT_EQ(attributes.dlid, 7);
    EXPECT_EQ(attributes.sl, 3);
    EXPECT_EQ(attributes.src_path_bits, 1);
    EXPECT_EQ(attributes.port_num, 1);
}

TEST_F(AddressFromCompletion, Ipv4FindsItsGid) {
    ASSERT_EQ(init(over_ipv4(ip_header.with_checksum())), 0);
    EXPECT_EQ(attributes.is_global, 1);
    EXPECT_EQ(attributes.grh.sgid_index, 4);
    EXPECT_EQ(std::bit_cast<wire::Gid>(attributes.grh.dgid), link::gid_of(peer));
    EXPECT_EQ(attributes.grh.traffic_class, 26 << 2);
    EXPECT_EQ(attributes.grh.hop_limit, 255);
}

TEST_F(AddressFromCompletion, TheKindOfGidIsThatOfThePacket) {
    ASSERT_EQ(init(over_grh({.flow_label = 9, .source = gid(2), .destination = gid(1)})), 0);
    EXPECT_EQ(attributes.grh.sgid_index, 0);
    EXPECT_EQ(attributes.grh.flow_label, 9u);
    ASSERT_EQ(init(over_grh({.next_header = udp, .source = gid(2), .destination = gid(1)})), 0);
    EXPECT_EQ(attributes.grh.sgid_index, 1);
}

TEST_F(AddressFromCompletion, ForeignGrhReturnsEinval) {
    EXPECT_EQ(init(over_grh({.source = gid(2), .destination = gid(3)})), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(init(Area{}), -1);
    EXPECT_EQ(errno, EINVAL);
}

TEST_F(AddressFromCompletion, AHandleIsMadeOfIt) {
    auto area = over_ipv4(ip_header.with_checksum());
    EXPECT_EQ(ibv_create_ah_from_wc(&pd, &completion, reinterpret_cast<ibv_grh*>(area.data()), 1), &device.handle);
    EXPECT_EQ(device.made.grh.sgid_index, 4);
    area.fill({});
    EXPECT_EQ(ibv_create_ah_from_wc(&pd, &completion, reinterpret_cast<ibv_grh*>(area.data()), 1), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

TEST_F(AddressFromCompletion, TheEthernetAddressIsResolved) {
    std::array<std::uint8_t, 6> mac{};
    std::uint16_t vlan = 0;
    attributes.grh.sgid_index = 3;
    attributes.grh.dgid.raw[15] = 0x17;
    EXPECT_EQ(ibv_resolve_eth_l2_from_gid(&device.context, &attributes, mac.data(), &vlan), 0);
    EXPECT_EQ(mac[5], 0x17);
    EXPECT_EQ(vlan, 0xffff);
    attributes.grh.sgid_index = 0;
    EXPECT_EQ(ibv_resolve_eth_l2_from_gid(&device.context, &attributes, mac.data(), &vlan), EHOSTUNREACH);
}

}  // namespace
}  // namespace verbline::verbs
