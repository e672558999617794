// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/kernel_interface.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/pmd/hca/fake_sys.h"

namespace verbline::pmd::hca {
namespace {

struct HcaKernelInterface : ::testing::Test {
    test::FakeSys sys;
};

TEST_F(HcaKernelInterface, HasItsNumberInItsAddress) {
    sys.add_interface("ib0", "mlx5_0", 0x000a1b);
    const auto found = read_kernel_interface("ib0", "mlx5_0", 1, sys.path());
    ASSERT_TRUE(found) << found.error().what;
    EXPECT_EQ(found->number, wire::Qpn{0xa1b});
    EXPECT_EQ(found->index, 7u);
    EXPECT_EQ(found->pkey, wire::PKey{0x8001});
}

TEST_F(HcaKernelInterface, MustBeThere) {
    const auto found = read_kernel_interface("ib0", "mlx5_0", 1, sys.path());
    EXPECT_EQ(found.error().code, ENODEV);
    EXPECT_EQ(found.error().what,
              "there is no interface ib0 beside which port 1 of RDMA device mlx5_0 could work; ip link shows those "
              "that there are");
}

TEST_F(HcaKernelInterface, MustBeOfIpoib) {
    sys.add_interface("eth0", "mlx5_0", 0x1b);
    sys.write("class/net/eth0/type", "1");
    EXPECT_EQ(
        read_kernel_interface("eth0", "mlx5_0", 1, sys.path()).error().what,
        "interface eth0 is no IPoIB interface, and port 1 of RDMA device mlx5_0 can work beside such a one alone");
}

TEST_F(HcaKernelInterface, MustBeOfThePort) {
    sys.add_interface("ib0", "mlx5_0", 0x1b);
    EXPECT_EQ(read_kernel_interface("ib0", "mlx5_1", 1, sys.path()).error().what,
              "interface ib0 is not of port 1 of RDMA device mlx5_1; rdma link shows whose it is");
    EXPECT_EQ(read_kernel_interface("ib0", "mlx5_0", 2, sys.path()).error().what,
              "interface ib0 is not of port 2 of RDMA device mlx5_0; rdma link shows whose it is");
    sys.write("class/net/ib0/dev_port", "1");
    EXPECT_TRUE(read_kernel_interface("ib0", "mlx5_0", 2, sys.path()));
}

TEST_F(HcaKernelInterface, MustHaveAnAddress) {
    sys.add_interface("ib0", "mlx5_0", 0x1b);
    sys.write("class/net/ib0/address", "00:11:22:33:44:55");
    EXPECT_TRUE(
        read_kernel_interface("ib0", "mlx5_0", 1, sys.path()).error().what.starts_with("interface ib0 has no IPoIB"));
}

}  // namespace
}  // namespace verbline::pmd::hca
