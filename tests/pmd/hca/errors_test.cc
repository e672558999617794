// SPDX-License-Identifier: BSD-3-Clause
// What a device does not begin with, in one line each.
#include <cerrno>

#include "tests/pmd/hca/devices.h"

namespace verbline::pmd {
namespace {

struct HcaErrors : test::HcaDevices {
    Error error(HcaOptions options) {
        options.device = "left0";
        const auto device = open(options);
        return device ? Error{0, "none"} : device.error();
    }
};

TEST_F(HcaErrors, ThePortsLinkLayerIsAnother) {
    EXPECT_EQ(error({.link_layer = LinkLayer::infiniband}).what,
              "port 1 of RDMA device left0 is an Ethernet port, and an InfiniBand port is needed: for IPoIB over RoCE "
              "say link = \"roce_v2\" instead of sm");
    EXPECT_EQ(error({.link_layer = LinkLayer::ethernet}).code, 0);
    left.port.ethernet = false;
    EXPECT_EQ(error({.link_layer = LinkLayer::ethernet}).what,
              "port 1 of RDMA device left0 is an InfiniBand port, and an Ethernet port is needed: for IPoIB on its "
              "subnet say sm = \"umad:left0,port=1\" instead of link = \"roce_v2\"");
    EXPECT_EQ(error({.link_layer = LinkLayer::infiniband}).code, 0);
}

TEST_F(HcaErrors, ThePortIsDown) {
    left.port.state = IBV_PORT_DOWN;
    EXPECT_EQ(error({}).what, "port 1 of RDMA device left0 is down: set its interface up, and connect its cable");
    left.port.ethernet = false;
    EXPECT_EQ(error({}).what, "port 1 of RDMA device left0 is down: connect its cable; rdma link shows its state");
    left.port.state = IBV_PORT_INIT;
    EXPECT_EQ(error({}).code, 0) << "a subnet manager may come later";
}

TEST_F(HcaErrors, ThereIsNoSuchPort) {
    EXPECT_EQ(error({.port = 2}).what, "RDMA device left0 does not answer for port 2: Invalid argument");
}

TEST_F(HcaErrors, ThereIsNoGidOfRoceVersion2) {
    left.port.gids.pop_back();
    EXPECT_EQ(error({}).what,
              "port 1 of RDMA device left0 has no link-local GID of RoCE v2: let its interface have IPv6, or its "
              "adapter RoCE v2");
}

TEST_F(HcaErrors, ThePartitionIsNotTheirs) {
    EXPECT_EQ(error({.pkey = wire::PKey{0x8001}}).what,
              "P_Key 0x8001 is not in the P_Key table of port 1 of RDMA device left0, which has 0xffff");
}

TEST_F(HcaErrors, MemoryCannotBeLocked) {
    left.memory_error = ENOMEM;
    const auto what = error({}).what;
    EXPECT_TRUE(what.starts_with("RDMA device left0 cannot register ")) << what;
    EXPECT_TRUE(
        what.ends_with(" MB of packet memory: Cannot allocate memory; raise the limit of locked memory (ulimit "
                       "-l unlimited, LimitMEMLOCK=infinity), or run as root"))
        << what;
}

TEST_F(HcaErrors, QueuesCannotBeMade) {
    left.queue_error = ENOMEM;
    EXPECT_EQ(error({}).what, "RDMA device left0: cannot make a completion channel: Cannot allocate memory");
    left.queue_error = 0;
    left.refuses_inline = true;
    left.max_inline = 0;
    EXPECT_EQ(error({}).code, 0) << "inline data is no necessity";
}

}  // namespace
}  // namespace verbline::pmd
