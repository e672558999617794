// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/program/device_view.h"

#include <array>
#include <cstring>

#include <endian.h>

#include <gtest/gtest.h>

#include "apps/verbline/program/device_flags.h"

namespace verbline::cli {
namespace {

constexpr std::array<FlagName, 3> flags{{{1, "ONE"}, {2, "TWO"}, {12, "BOTH"}}};

TEST(FlagText, NamesEveryBitThatIsSet) {
    EXPECT_EQ(flag_text(0, flags), "0x00000000");
    EXPECT_EQ(flag_text(3, flags), "0x00000003 ONE TWO");
    EXPECT_EQ(flag_text(12, flags, 2), "0x0c BOTH");
    EXPECT_EQ(flag_text(4 | 1, flags, 2), "0x05 ONE 0x4") << "half of BOTH has no name";
    EXPECT_EQ(flag_text(4, flags, 2), "0x04");
}

TEST(DeviceRow, HasTheFieldsOfIbvDevinfo) {
    ibv_device_attr_ex attributes{};
    std::strcpy(attributes.orig_attr.fw_ver, "0.1.0");
    attributes.orig_attr.node_guid = htobe64(0x020000fffe000004);
    attributes.orig_attr.vendor_id = 0x2c9;
    attributes.orig_attr.max_qp = 16384;
    attributes.orig_attr.device_cap_flags = IBV_DEVICE_XRC | IBV_DEVICE_MEM_WINDOW;
    attributes.orig_attr.atomic_cap = IBV_ATOMIC_HCA;
    attributes.odp_caps.per_transport_caps.rc_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_READ;
    const auto row = device_row({.name = "verbline0", .board = "verbline", .completion_vectors = 2}, attributes);
    EXPECT_EQ(row["hca_id"], "verbline0");
    EXPECT_EQ(row["transport"], "InfiniBand (0)");
    EXPECT_EQ(row["fw_ver"], "0.1.0");
    EXPECT_EQ(row["node_guid"], "0x020000fffe000004");
    EXPECT_EQ(row["vendor_id"], "0x02c9");
    EXPECT_EQ(row["board_id"], "verbline");
    EXPECT_EQ(row["max_qp"], 16384);
    EXPECT_EQ(row["device_cap_flags"], "0x00120000 MEM_WINDOW XRC");
    EXPECT_EQ(row["atomic_cap"], "ATOMIC_HCA (1)");
    EXPECT_EQ(row["rc_odp_caps"], "0x00000009 SEND READ");
    EXPECT_EQ(row["num_comp_vectors"], 2);
    // One each for the lines of ibv_devinfo -v, and the members of those that have members.
    EXPECT_EQ(row.size(), 72U);
}

TEST(DeviceRow, ReadsAFirmwareVersionWithoutItsEnd) {
    ibv_device_attr_ex attributes{};
    std::memset(attributes.orig_attr.fw_ver, 'x', sizeof attributes.orig_attr.fw_ver);
    EXPECT_EQ(device_row({}, attributes)["fw_ver"], std::string(sizeof attributes.orig_attr.fw_ver, 'x'));
}

TEST(PortRow, ShowsNamesOfValues) {
    ibv_port_attr attributes{};
    attributes.state = IBV_PORT_ACTIVE;
    attributes.max_mtu = IBV_MTU_4096;
    attributes.active_mtu = IBV_MTU_1024;
    attributes.link_layer = IBV_LINK_LAYER_ETHERNET;
    attributes.max_vl_num = 5;
    attributes.active_width = 2;
    attributes.active_speed = 32;
    attributes.phys_state = 5;
    attributes.port_cap_flags = IBV_PORT_CM_SUP;
    const auto row = port_row(1, attributes);
    EXPECT_EQ(row["port"], 1);
    EXPECT_EQ(row["state"], "PORT_ACTIVE (4)");
    EXPECT_EQ(row["max_mtu"], "4096 (5)");
    EXPECT_EQ(row["active_mtu"], "1024 (3)");
    EXPECT_EQ(row["link_layer"], "Ethernet");
    EXPECT_EQ(row["max_vl_num"], "15 (5)");
    EXPECT_EQ(row["active_width"], "4X (2)");
    EXPECT_EQ(row["active_speed"], "25.0 Gbps (32)");
    EXPECT_EQ(row["phys_state"], "LINK_UP (5)");
    EXPECT_EQ(row["port_cap_flags"], "0x00010000 CM_SUP");
}

TEST(PortRow, SurvivesAnyNumbers) {
    ibv_port_attr attributes{};
    std::memset(static_cast<void*>(&attributes), 0x7f, sizeof attributes);
    const auto row = port_row(1, attributes);
    EXPECT_EQ(row["max_vl_num"], "unknown (127)");
    EXPECT_EQ(row["link_layer"], "unknown");
}

TEST(GidRows, HaveAddressTypeAndInterface) {
    std::array<ibv_gid_entry, 3> entries{};
    entries[0].gid.raw[0] = 0xfe, entries[0].gid.raw[1] = 0x80, entries[0].gid.raw[15] = 1;
    entries[0].gid_type = IBV_GID_TYPE_ROCE_V1;
    entries[1] = entries[0];
    entries[1].gid_index = 3, entries[1].gid_type = IBV_GID_TYPE_ROCE_V2,
    entries[1].ndev_ifindex = 1;  // lo, everywhere
    entries[2].gid_type = 9;
    const auto rows = gid_rows(entries);
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].dump(), R"({"index":0,"gid":"fe80::1","type":"RoCE v1","interface":""})");
    EXPECT_EQ(rows[1].dump(), R"({"index":3,"gid":"fe80::1","type":"RoCE v2","interface":"lo"})");
    EXPECT_EQ(rows[2]["type"], "unknown");
}

}  // namespace
}  // namespace verbline::cli
