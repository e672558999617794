// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/factory/device_spec.h"

#include <gtest/gtest.h>

#include "pmd/runtime/runtime_directory.h"

namespace verbline::pmd {
namespace {

TEST(DeviceSpec, EveryKind) {
    EXPECT_EQ(parse_device_spec("tap:lan0"), DeviceSpec(TapSpec{.interface = "lan0"}));
    EXPECT_EQ(parse_device_spec("tap:lan0,netns=lan,queues=4"),
              DeviceSpec(TapSpec{.interface = "lan0", .netns = "lan", .queues = 4}));
    EXPECT_EQ(parse_device_spec("eth:eth1"), DeviceSpec(EthernetSpec{.interface = "eth1"}));
    EXPECT_EQ(parse_device_spec("memif:/run/verbline/a.sock"), DeviceSpec(MemifSpec{.path = "/run/verbline/a.sock"}));
    EXPECT_EQ(parse_device_spec("memif:a.sock"), DeviceSpec(MemifSpec{.path = runtime_directory() / "a.sock"}));
    EXPECT_EQ(parse_device_spec("memif:./a.sock,owner=12345,server"),
              DeviceSpec(MemifSpec{.path = "./a.sock", .server = true, .trust = {.user = 12345}}));
    EXPECT_EQ(parse_device_spec("memif:/run/verbline/a.sock,server"),
              DeviceSpec(MemifSpec{.path = "/run/verbline/a.sock", .server = true}));
    EXPECT_EQ(parse_device_spec("memif:/a,queues=3,server"),
              DeviceSpec(MemifSpec{.path = "/a", .server = true, .queues = 3}));
    EXPECT_EQ(parse_device_spec("hca:mlx5_0/2"), DeviceSpec(HcaSpec{.device = "mlx5_0", .port = 2}));
    EXPECT_EQ(parse_device_spec("hca:rxe0"), DeviceSpec(HcaSpec{.device = "rxe0", .port = 1}));
    EXPECT_EQ(parse_device_spec("hca:rxe0/1,library=/opt/libibverbs.so.1"),
              DeviceSpec(HcaSpec{.device = "rxe0", .port = 1, .library = "/opt/libibverbs.so.1"}));
    EXPECT_EQ(parse_device_spec("dpdk:net_af_packet0,iface=eth1"), DeviceSpec(DpdkSpec{"net_af_packet0,iface=eth1"}));
    EXPECT_EQ(parse_device_spec("dpdk:0000:03:00.0"), DeviceSpec(DpdkSpec{"0000:03:00.0"}));
    EXPECT_EQ(parse_device_spec("dpdk:03:00.0,a=1"), DeviceSpec(DpdkSpec{"0000:03:00.0,a=1"})) << "as DPDK names it";
}

TEST(DeviceSpec, MistakesAreOneLineEach) {
    EXPECT_EQ(parse_device_spec("eth0").error().what,
              "device `eth0`: unknown kind; use tap:IFNAME, eth:IFNAME, memif:SOCKET, hca:NAME/PORT or dpdk:DEVARGS");
    EXPECT_EQ(parse_device_spec("tap:x,queue=2").error().what,
              "device `tap:x,queue=2`: unknown option `queue=2`; known are netns=NS and queues=N");
    EXPECT_EQ(parse_device_spec("tap:x,queues=0").error().what, "device `tap:x,queues=0`: queues must be 1 to 64");
    EXPECT_EQ(parse_device_spec("memif:/a,client").error().what,
              "device `memif:/a,client`: unknown option `client`; known are server, owner=UID and queues=N");
    for (const char* wrong : {"",
                              ":",
                              "tap",
                              "tap:",
                              "tap:,netns=x",
                              "tap:x,",
                              "tap:x,netns=",
                              "tap:x,queues=65",
                              "tap:x,queues=2x",
                              "tap:x,queues=-1",
                              "memif:",
                              "memif:,server",
                              "memif:/a,",
                              "memif:/a,queues=",
                              "memif:/a,queues=0",
                              "memif:/a,queues=65",
                              "memif:/a,owner=",
                              "memif:/a,owner=root",
                              "memif:/a,owner=-1",
                              "hca:",
                              "hca:/1",
                              "hca:mlx5_0/",
                              "hca:mlx5_0/0",
                              "hca:mlx5_0/255",
                              "hca:mlx5_0/1x",
                              "hca:mlx5_0/1,",
                              "hca:mlx5_0/1,library=",
                              "hca:mlx5_0/1,port=2",
                              "dpdk:",
                              "TAP:x",
                              "tun:x",
                              "eth:",
                              "eth:x,y"}) {
        EXPECT_FALSE(parse_device_spec(wrong)) << wrong;
    }
}

TEST(PciAddress, IsReadWithOrWithoutDomain) {
    EXPECT_EQ(pci_address({"0000:03:00.0"}), "0000:03:00.0");
    EXPECT_EQ(pci_address({"a1b2:ff:1f.7,mprq_en=1"}), "a1b2:ff:1f.7");
    EXPECT_EQ(pci_address({"03:00.0"}), "0000:03:00.0");
    for (const auto* other : {"", "net_null0", "0000:03:00", "0000:03:00.", "0000:03:00.00", "3:00.0", "00000:03:00.0",
                              "0000:03:00.g", "0000-03:00.0", ":03:00.0"}) {
        EXPECT_EQ(pci_address({other}), std::nullopt) << other;
    }
}

}  // namespace
}  // namespace verbline::pmd
