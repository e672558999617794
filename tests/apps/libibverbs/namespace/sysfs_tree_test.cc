// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/namespace/sysfs_tree.h"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datapath/wire/text.h"
#include "tests/apps/verbline/scratch.h"

namespace verbline::verbs {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

DeviceFacts ethernet() {
    return {.name = "verbline0",
            .node_guid = wire::Guid{0x020000fffe000004},
            .active = true,
            .capabilities = ethernet_capabilities,
            .gigabits = 100,
            .lanes = 4,
            .gids = {{*wire::from_string<wire::Gid>("fe80::ff:fe00:4"), GidType::infiniband_or_roce_v1, "eth1"},
                     {*wire::from_string<wire::Gid>("fe80::ff:fe00:4"), GidType::roce_v2, "eth1"},
                     {*wire::from_string<wire::Gid>("::ffff:10.9.0.1"), GidType::roce_v2, ""}},
            .interface = "eth1",
            .firmware = "0.1.0",
            .board = "verbline",
            .counters = {{"port_xmit_packets", 7}},
            .hw_counters = {{"rnr_nak_retry_err", 0}}};
}

class Sysfs : public testing::Test {
protected:
    std::string read(const std::string& file) const {
        std::ifstream in(scratch_.path() / file);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    std::vector<std::string> list(const std::string& directory) const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(scratch_.path() / directory))
            names.push_back(entry.path().filename());
        return names;
    }
    void update(const DeviceFacts& facts) const {
        const auto done = SysfsTree(scratch_.path()).update(facts);
        EXPECT_TRUE(done) << done.error().what;
    }

    cli::Scratch scratch_;
    const std::string node_ = "infiniband/verbline0/", port_ = node_ + "ports/1/";
};

TEST_F(Sysfs, IsWrittenAsTheKernelWritesIt) {
    update(ethernet());
    EXPECT_EQ(read(node_ + "node_type"), "1: CA\n");
    EXPECT_EQ(read(node_ + "node_guid"), "0200:00ff:fe00:0004\n");
    EXPECT_EQ(read(node_ + "sys_image_guid"), "0200:00ff:fe00:0004\n");
    EXPECT_EQ(read(node_ + "fw_ver"), "0.1.0\n");
    EXPECT_EQ(read(node_ + "board_id"), "verbline\n");
    EXPECT_EQ(read(node_ + "device/numa_node"), "-1\n");
    EXPECT_NE(read(node_ + "device/local_cpus"), "");
    EXPECT_EQ(read(port_ + "state"), "4: ACTIVE\n");
    EXPECT_EQ(read(port_ + "phys_state"), "5: LinkUp\n");
    EXPECT_EQ(read(port_ + "rate"), "100 Gb/sec (4X EDR)\n");
    EXPECT_EQ(read(port_ + "link_layer"), "Ethernet\n");
    EXPECT_EQ(read(port_ + "lid"), "0x0\n");
    EXPECT_EQ(read(port_ + "pkeys/0"), "0xffff\n");
    EXPECT_EQ(read(port_ + "gids/1"), "fe80:0000:0000:0000:0000:00ff:fe00:0004\n");
    EXPECT_EQ(read(port_ + "gids/2"), "0000:0000:0000:0000:0000:ffff:0a09:0001\n");
    EXPECT_EQ(read(port_ + "gid_attrs/types/0"), "IB/RoCE v1\n");
    EXPECT_EQ(read(port_ + "gid_attrs/types/1"), "RoCE v2\n");
    EXPECT_EQ(read(port_ + "counters/port_xmit_packets"), "7\n");
    EXPECT_EQ(read(port_ + "hw_counters/rnr_nak_retry_err"), "0\n");
    EXPECT_EQ(read("infiniband_verbs/abi_version"), "6\n");
    EXPECT_EQ(read(node_ + "hw_rev"), "0\n");
    EXPECT_EQ(read(port_ + "cap_mask"), "0x04010000\n");
    EXPECT_EQ(read(port_ + "lid_mask_count"), "0\n");
    EXPECT_EQ(read("infiniband_verbs/uverbs0/ibdev"), "verbline0\n");
    EXPECT_EQ(read("infiniband_mad/abi_version"), "5\n");
    EXPECT_EQ(read("infiniband_mad/umad0/ibdev"), "verbline0\n");
    EXPECT_EQ(read("infiniband_mad/umad0/port"), "1\n");
    EXPECT_EQ(read("infiniband_mad/umad0/dev"), "231:0\n");
}

TEST_F(Sysfs, NamesTheKernelsInterfaceWhereThereIsOne) {
    update(ethernet());
    EXPECT_THAT(list(node_ + "device/net"), UnorderedElementsAre("eth1"));
    EXPECT_THAT(list(port_ + "gid_attrs/ndevs"), UnorderedElementsAre("0", "1"));
    EXPECT_EQ(read(port_ + "gid_attrs/ndevs/0"), "eth1\n");
}

TEST_F(Sysfs, OfASoftFabricHasItsLids) {
    auto facts = ethernet();
    facts.name = "verbline_ib0", facts.index = 1, facts.infiniband = true;
    facts.lid = wire::Lid{5}, facts.sm_lid = wire::Lid{1}, facts.sm_sl = 3;
    facts.pkeys = {wire::PKey{0xffff}, wire::PKey{0x8001}};
    update(ethernet());
    update(facts);
    EXPECT_EQ(read("infiniband/verbline_ib0/ports/1/link_layer"), "InfiniBand\n");
    EXPECT_EQ(read("infiniband/verbline_ib0/ports/1/lid"), "0x5\n");
    EXPECT_EQ(read("infiniband/verbline_ib0/ports/1/sm_lid"), "0x1\n");
    EXPECT_EQ(read("infiniband/verbline_ib0/ports/1/sm_sl"), "3\n");
    EXPECT_EQ(read("infiniband/verbline_ib0/ports/1/pkeys/1"), "0x8001\n");
    EXPECT_EQ(read("infiniband_mad/umad1/ibdev"), "verbline_ib0\n");
    EXPECT_EQ(read("infiniband_verbs/uverbs1/ibdev"), "verbline_ib0\n");
    EXPECT_EQ(read("infiniband_verbs/uverbs0/ibdev"), "verbline0\n") << "the other device stays";
}

TEST_F(Sysfs, RemovesWhatTheDeviceNoLongerHas) {
    update(ethernet());
    auto facts = ethernet();
    facts.gids.pop_back();
    facts.gids[0].interface.clear();
    facts.active = false;
    update(facts);
    EXPECT_THAT(list(port_ + "gids"), UnorderedElementsAre("0", "1"));
    EXPECT_THAT(list(port_ + "gid_attrs/types"), UnorderedElementsAre("0", "1"));
    EXPECT_THAT(list(port_ + "gid_attrs/ndevs"), UnorderedElementsAre("1"));
    EXPECT_EQ(read(port_ + "state"), "1: DOWN\n");
}

TEST_F(Sysfs, ReplacesFilesAsAWhole) {
    update(ethernet());
    std::ifstream before(scratch_.path() / (node_ + "fw_ver"));
    auto facts = ethernet();
    facts.firmware = "0.2.0";
    update(facts);
    std::string line;
    std::getline(before, line);
    EXPECT_EQ(line, "0.1.0") << "who has it open reads on";
    EXPECT_EQ(read(node_ + "fw_ver"), "0.2.0\n");
    EXPECT_EQ(std::ranges::count_if(list(node_), [](const auto& name) { return name.starts_with('.'); }), 0);
}

TEST_F(Sysfs, NamesTheFileThatCannotBeWritten) {
    const SysfsTree tree(scratch_.write("file", "in the way"));
    const auto done = tree.update(ethernet());
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().what, HasSubstr("cannot write "));
    EXPECT_NE(done.error().code, 0);
}

TEST(SysfsRate, NamesTheSpeedOfALane) {
    const cli::Scratch scratch;
    const auto rate = [&](unsigned gigabits, unsigned lanes) {
        auto facts = ethernet();
        facts.gigabits = gigabits, facts.lanes = lanes;
        EXPECT_TRUE(SysfsTree(scratch.path()).update(facts));
        std::ifstream in(scratch.path() / "infiniband/verbline0/ports/1/rate");
        std::string line;
        std::getline(in, line);
        return line;
    };
    EXPECT_EQ(rate(10, 4), "10 Gb/sec (4X SDR)");
    EXPECT_EQ(rate(25, 1), "25 Gb/sec (1X EDR)");
    EXPECT_EQ(rate(200, 4), "200 Gb/sec (4X HDR)");
    EXPECT_EQ(rate(100, 0), "100 Gb/sec (1X NDR)");
}

}  // namespace
}  // namespace verbline::verbs
