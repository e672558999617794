// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/launch/dpdk_port_check.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/apps/verbline/scratch.h"

namespace verbline::verbs {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct PortVerdict {
    int code = 0;
    std::string what;
};

PortVerdict port_verdict(const std::string& devargs, const fs::path& sysfs = "/sys") {
    const auto good = check_dpdk_port({devargs}, sysfs);
    return good ? PortVerdict{} : PortVerdict{good.error().code, good.error().what};
}

/// A PCI device in a sysfs of its own.
class PciDevice : public testing::Test {
protected:
    static constexpr auto address = "0000:03:00.0";
    const fs::path& sysfs() const { return scratch_.path(); }
    void add(const std::string& vendor, const std::string& driver) const {
        const auto device = sysfs() / "bus/pci/devices" / address;
        fs::create_directories(device);
        std::ofstream(device / "vendor") << vendor << '\n';
        if (!driver.empty()) fs::create_symlink("../../drivers/" + driver, device / "driver");
    }

private:
    cli::Scratch scratch_;
};

TEST(DpdkPort, OfAPacketSocketNeedsAnInterface) {
    EXPECT_THAT(port_verdict("net_af_packet0").what, HasSubstr("names no interface"));
    EXPECT_EQ(port_verdict("net_af_packet0,iface=any0").code, 0);  // the interface itself is checked elsewhere
    EXPECT_EQ(kernel_interface_of({"net_af_packet0,qpairs=1,iface=any0"}), "any0");
    EXPECT_EQ(kernel_interface_of({"net_virtio_user0,path=/a,iface=any0"}), std::nullopt);
}

TEST(DpdkPort, OfVhostNeedsASocketUnlessItServes) {
    const cli::Scratch scratch;
    const auto path = (scratch.path() / "socket").string();
    EXPECT_THAT(port_verdict("net_virtio_user0").what, HasSubstr("names no socket"));
    EXPECT_EQ(port_verdict("net_virtio_user0,path=" + path).code, ENOENT);
    EXPECT_EQ(port_verdict("net_virtio_user0,path=" + path + ",server=1").code, 0);
    scratch.write("socket", "");
    EXPECT_EQ(port_verdict("net_virtio_user0,path=" + path).code, 0);
}

TEST(DpdkPort, OfAnotherVirtualDriverIsForAHub) {
    for (const auto* devargs : {"net_null0", "net_af_xdp0,iface=lo", "0000:03:00", "3:00.0", "0000:03:00.00"}) {
        EXPECT_EQ(port_verdict(devargs).code, ENOTSUP) << devargs;
        EXPECT_THAT(port_verdict(devargs).what, HasSubstr(std::string("verbline hub NAME --uplink dpdk:") + devargs));
    }
}

TEST_F(PciDevice, MustExist) {
    EXPECT_EQ(port_verdict(address, sysfs()).code, ENODEV);
}

TEST_F(PciDevice, IsUsedInUserSpace) {
    add("0x8086", "vfio-pci");
    EXPECT_EQ(port_verdict(address, sysfs()).code, 0);
    EXPECT_EQ(port_verdict("03:00.0,queues=1", sysfs()).code, 0);
}

TEST_F(PciDevice, OfTheKernelHasToBeBound) {
    add("0x8086", "ixgbe");
    EXPECT_EQ(port_verdict(address, sysfs()).code, EBUSY);
    EXPECT_THAT(port_verdict(address, sysfs()).what, HasSubstr("the kernel's driver ixgbe has the device; give it"));
}

TEST_F(PciDevice, WithoutDriverHasToBeBound) {
    add("0x8086", "");
    EXPECT_THAT(port_verdict(address, sysfs()).what, HasSubstr("no driver has the device"));
}

TEST_F(PciDevice, ThatNeedsTheSystemsLibraryIsForANode) {
    add("0x15b3", "mlx5_core");
    EXPECT_EQ(port_verdict(address, sysfs()).code, ENOTSUP);
    EXPECT_THAT(port_verdict(address, sysfs()).what, HasSubstr("verbline node NAME --port dpdk:0000:03:00.0"));
}

}  // namespace
}  // namespace verbline::verbs
