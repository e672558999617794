// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/port.h"

#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>

#include "pmd/hca/library.h"
#include "tests/pmd/hca/fake_adapters.h"

namespace verbline::pmd::hca {
namespace {

struct HcaPort : ::testing::Test {
    ~HcaPort() override { EXPECT_EQ(adapters.objects(), 0u); }

    test::FakeAdapters adapters;
    const Verbs& verbs = **open_library(test::FakeAdapters::library());
};

TEST_F(HcaPort, DevicesAreFoundByName) {
    EXPECT_EQ(open_context(verbs, "mlx5_0").error().what,
              "there is no RDMA device mlx5_0, nor any other: load the adapter's driver and ib_uverbs");
    adapters.add("mlx5_0", 1);
    adapters.add("mlx5_1", 2);
    EXPECT_EQ(device_names(verbs), (std::vector<std::string>{"mlx5_0", "mlx5_1"}));
    const auto missing = open_context(verbs, "mlx5_2");
    EXPECT_EQ(missing.error().code, ENODEV);
    EXPECT_EQ(missing.error().what, "there is no RDMA device mlx5_2; there are mlx5_0, mlx5_1");
    const auto context = open_context(verbs, "mlx5_1");
    ASSERT_TRUE(context);
    EXPECT_STREQ((*context)->device->name, "mlx5_1");
}

TEST_F(HcaPort, WhatPreventsOpeningIsNamed) {
    auto& device = adapters.add("mlx5_0", 1);
    device.open_error = EACCES;
    EXPECT_EQ(open_context(verbs, "mlx5_0").error().what,
              "no permission to open RDMA device mlx5_0: run as root, or give this user /dev/infiniband/uverbs-mlx5_0");
    device.open_error = ENOMEM;
    EXPECT_EQ(open_context(verbs, "mlx5_0").error().what, "cannot open RDMA device mlx5_0: Cannot allocate memory");
}

TEST_F(HcaPort, OfEthernetHasALinkLocalGidOfVersion2) {
    auto& device = adapters.add("rxe0", 7);
    auto other = device.port.gids[1];
    other.gid.raw[0] = 0xfd;
    device.port.gids.insert(device.port.gids.begin(), other);
    device.port.gids.back().ndev_ifindex = 4;
    const auto context = open_context(verbs, "rxe0");
    const auto facts = read_port(verbs, **context, 1);
    ASSERT_TRUE(facts);
    EXPECT_TRUE(facts->ethernet && facts->active());
    EXPECT_EQ(facts->gid, test::FakeAdapters::gid(7));
    EXPECT_EQ(facts->gid_index, 2);
    EXPECT_EQ(facts->interface, 4u);
    EXPECT_EQ(facts->mtu, 2048u);

    device.port.gids.pop_back();
    EXPECT_FALSE(read_port(verbs, **context, 1)->has_gid()) << "RoCE v1 is no carrier of IPoIB";
    device.port.state = IBV_PORT_DOWN;
    EXPECT_FALSE(read_port(verbs, **context, 1)->active());
}

TEST_F(HcaPort, OfInfinibandHasTheFirstGidAndALid) {
    auto& device = adapters.add("mlx5_0", 9);
    device.port.ethernet = false;
    device.port.lid = 17;
    device.port.mtu = IBV_MTU_4096;
    const auto context = open_context(verbs, "mlx5_0");
    const auto facts = read_port(verbs, **context, 1);
    ASSERT_TRUE(facts);
    EXPECT_FALSE(facts->ethernet);
    EXPECT_EQ(facts->lid, wire::Lid{17});
    EXPECT_EQ(facts->gid, test::FakeAdapters::gid(9));
    EXPECT_EQ(facts->mtu, 4096u);
}

TEST_F(HcaPort, PKeysAreFoundByPartition) {
    auto& device = adapters.add("mlx5_0", 1);
    device.port.pkeys = {0x7fff, 0x8001, 0, 0x0001};
    const auto context = open_context(verbs, "mlx5_0");
    const auto facts = read_port(verbs, **context, 1).value();
    const auto index = [&](std::uint16_t pkey) { return find_pkey(verbs, **context, 1, facts, wire::PKey{pkey}); };
    EXPECT_EQ(index(0x8001), 1);
    EXPECT_EQ(index(0x0001), 3) << "the other membership";
    EXPECT_EQ(index(0xffff), 0) << "limited is all there is";
    EXPECT_EQ(index(0x8002), std::nullopt);
    EXPECT_EQ(pkey_table(verbs, **context, 1, facts), "0x7fff, 0x8001, 0x0001");
}

TEST_F(HcaPort, AGoneDeviceDoesNotAnswer) {
    auto& device = adapters.add("mlx5_0", 1);
    const auto context = open_context(verbs, "mlx5_0");
    EXPECT_EQ(read_port(verbs, **context, 2).error().what,
              "RDMA device mlx5_0 does not answer for port 2: Invalid argument");
    device.there = false;
    EXPECT_EQ(read_port(verbs, **context, 1).error().code, EIO);
}

}  // namespace
}  // namespace verbline::pmd::hca
