// SPDX-License-Identifier: BSD-3-Clause
// Ports that share a device by VLANs or partitions, and links over RoCE.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "apps/verbline/config/config.h"
#include "tests/apps/verbline/config/config_fixture.h"

namespace verbline::cli {
namespace {

using test_config::error_of;

constexpr std::string_view over_roce = R"(name = "gw"
[[port]]
name = "ib0"
type = "ipoib"
link = "roce_v2"
device = "eth:eth1"
)";

TEST(Config, IpoibOverRoceNeedsNoSubnetManager) {
    const auto config = parse_config(over_roce, "gw.toml");
    ASSERT_TRUE(config) << config.error().what;
    const auto& port = config->ports[0];
    EXPECT_EQ(port.link, IpoibLink::roce_v2);
    EXPECT_FALSE(port.has_subnet());
    EXPECT_EQ(port.pkey, wire::PKey{0xffff});
    EXPECT_EQ(port.mtu, 1020u) << "the default fits an Ethernet link's 1500";
    EXPECT_EQ(error_of(std::string(over_roce) + "sm = \"ibsim:vl,host=H2\"\n"),
              "gw.toml:7: ib0: a link over RoCE has no subnet manager");
}

TEST(Config, RejectsADefaultMtuTooSmallForIpv6) {
    EXPECT_EQ(error_of(std::string(over_roce) + "address = \"fd76:1::1/64\"\n"),
              "gw.toml:7: mtu 1020 of ib0: its IPv6 addresses need 1280");
}

/// Ports p0, p1, ... of one device; `vlans`: the line of each.
std::string trunk(const std::vector<std::string>& vlans) {
    std::string text = "name = \"gw\"\n";
    for (std::size_t i = 0; i < vlans.size(); ++i)
        text += "[[port]]\nname = \"p" + std::to_string(i) +
                "\"\ntype = \"ethernet\"\ndevice = \"dpdk:net_af_packet0,iface=eth1\"\n" + vlans[i] + "\n";
    return text;
}

TEST(Config, SharesADeviceByItsVlans) {
    const auto config = parse_config(trunk({"", "vlan = 100", "vlan = 4094"}), "gw.toml");
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_EQ(config->ports[0].vlan, std::nullopt);
    EXPECT_EQ(config->ports[1].vlan, 100);
    EXPECT_EQ(config->ports[2].vlan, 4094);
    EXPECT_EQ(error_of(trunk({"", ""})), "gw.toml:10: device dpdk:net_af_packet0,iface=eth1 is used twice");
    EXPECT_EQ(error_of(trunk({"", "vlan = 7", "vlan = 7"})),
              "gw.toml:16: VLAN 7 of device dpdk:net_af_packet0,iface=eth1 is p1's already");
}

/// Ports p0, p1, ... of one InfiniBand port; `lines`: what is particular to each.
std::string partitions(const std::vector<std::string>& lines) {
    std::string text = "name = \"gw\"\n";
    for (std::size_t i = 0; i < lines.size(); ++i)
        text += "[[port]]\nname = \"p" + std::to_string(i) + "\"\ntype = \"ipoib\"\n" + lines[i] + "\n";
    return text;
}

TEST(Config, SharesAnInfinibandPortByItsPartitions) {
    const std::string port = "device = [\"memif:/a\", \"memif:/b\"]\nsm = \"ibsim:vl,host=H2\"\n";
    const auto config = parse_config(partitions({port, port + "pkey = 0x8001", port + "pkey = 2"}), "gw.toml");
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_EQ(config->ports[2].pkey, wire::PKey{2}) << "as a limited member";
    EXPECT_EQ(error_of(partitions({port, port})), "gw.toml:8: partition 0xffff of device memif:/a is p0's already");
    EXPECT_EQ(error_of(partitions({port + "pkey = 0x8001", port + "pkey = 1"})),
              "gw.toml:13: partition 0x0001 of device memif:/a is p0's already")
        << "there is one interface for each";
}

TEST(Config, PartitionsShareTheDevicesAndTheSubnetManager) {
    const std::string port = "device = [\"memif:/a\", \"memif:/b\"]\nsm = \"ibsim:vl,host=H2\"\n";
    EXPECT_EQ(error_of(partitions({port, "device = \"memif:/c\"\nsm = \"ibsim:vl,host=H2\"\npkey = 1"})),
              "gw.toml:12: sm ibsim:vl,host=H2 is that of p0, which has another device: partitions of one InfiniBand "
              "port have all of its devices");
    EXPECT_EQ(
        error_of(partitions({port, "device = \"memif:/a\"\nsm = \"ibsim:vl,host=H3\"\npkey = 1"})),
        "gw.toml:11: partitions of one InfiniBand port have all of its devices: p0 and p1 share memif:/a, and not "
        "the others");
    EXPECT_EQ(error_of(partitions({port,
                                   "device = [\"memif:/a\", \"memif:/b\"]\nsm = \"ibsim:vl,host=H3\"\npkey = "
                                   "1"})),
              "gw.toml:12: sm ibsim:vl,host=H3 of p1: p0, which has the same device, is reached by ibsim:vl,host=H2");
}

TEST(Config, SharesALinkOverRoceByItsPartitions) {
    const std::string port = "link = \"roce_v2\"\ndevice = \"eth:eth1\"\n";
    EXPECT_TRUE(parse_config(partitions({port, port + "pkey = 0x8001", port + "vlan = 7"}), ""));
    EXPECT_EQ(error_of(partitions({port, port + "pkey = 0x7fff"})),
              "gw.toml:13: partition 0x7fff of device eth:eth1 is p0's already");
}

/// An InfiniBand port with a backup, and `more` lines of it.
std::string with_backup(const std::string& backup, const std::string& more = "") {
    return partitions({"device = \"memif:/a\"\nsm = \"ibsim:vl,host=H2\"\n" + backup + more});
}

TEST(Config, APortHasABackup) {
    const std::string backup = "backup_device = \"memif:/b\"\nbackup_sm = \"ibsim:vl,host=H4\"\n";
    const auto config = parse_config(with_backup(backup), "gw.toml");
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_TRUE(config->ports[0].has_backup());
    EXPECT_EQ(config->ports[0].backup_sm, "ibsim:vl,host=H4");
    EXPECT_EQ(error_of(with_backup("backup_device = \"memif:/b\"\n")),
              "gw.toml:7: p0: a backup has both backup_device and backup_sm");
    EXPECT_EQ(error_of(with_backup("backup_sm = \"ibsim:vl,host=H4\"\n")),
              "gw.toml:7: p0: a backup has both backup_device and backup_sm");
    EXPECT_EQ(error_of(with_backup("backup_device = \"memif:/b\"\nbackup_sm = \"ibsim:vl,host=H2\"\n")),
              "gw.toml:8: backup_sm of p0 is its sm: a backup is another port");
    EXPECT_EQ(error_of(with_backup("backup_device = \"memif:/a\"\nbackup_sm = \"ibsim:vl,host=H4\"\n")),
              "gw.toml:7: backup_device of p0: a port with a backup shares no device and no sm, and it itself has one "
              "of its");
    EXPECT_EQ(error_of(with_backup("backup_device = \"hca:mlx5_0/1\"\nbackup_sm = \"umad:mlx5_0,port=1\"\n")),
              "gw.toml:7: device hca:mlx5_0/1 of p0: an adapter's port (hca:) has no backup here, nor is it one");
    EXPECT_EQ(error_of(with_backup(backup, "mode = \"connected\"\n")),
              "gw.toml:9: mode of p0: connected mode has no backup; leave one out");
    EXPECT_EQ(error_of(partitions({"link = \"roce_v2\"\ndevice = \"eth:eth1\"\n" + backup})),
              "gw.toml:7: backup_device of p0: a link over RoCE has no backup");
}

TEST(Config, ABackupIsNoOtherPorts) {
    const std::string port = "device = \"memif:/a\"\nsm = \"ibsim:vl,host=H2\"\n";
    const auto backup = [&](const std::string& device, const std::string& host) {
        return port + "backup_device = \"memif:/" + device + "\"\nbackup_sm = \"ibsim:vl,host=" + host + "\"\n";
    };
    const auto shared = [](unsigned line) {
        return "gw.toml:" + std::to_string(line) +
               ": backup_device of p0: a port with a backup shares no device and no sm, and p1 has one of its";
    };
    EXPECT_EQ(error_of(partitions({backup("b", "H4"), port + "pkey = 1\n"})), shared(7));
    EXPECT_EQ(error_of(partitions({backup("b", "H4"), "device = \"memif:/b\"\nsm = \"ibsim:vl,host=H5\"\n"})),
              shared(7));
    EXPECT_EQ(error_of(partitions({backup("b", "H4"), "device = \"memif:/c\"\nsm = \"ibsim:vl,host=H4\"\n"})),
              shared(7));
}

}  // namespace
}  // namespace verbline::cli
