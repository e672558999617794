// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/doctor/fact_reader.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "apps/verbline/doctor/cpu_list.h"
#include "tests/apps/verbline/doctor/machines.h"

namespace verbline::doctor {
namespace {

TEST(CpuList, IsReadAsTheKernelWritesIt) {
    EXPECT_EQ(parse_cpu_list("0-2,8"), (CpuSet{0, 1, 2, 8}));
    EXPECT_EQ(parse_cpu_list("2-N", 3), (CpuSet{2, 3}));
    EXPECT_EQ(parse_cpu_list("all", 1), (CpuSet{0, 1}));
    EXPECT_EQ(to_string({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
    EXPECT_EQ(to_string({}), "");
}

TEST(CpuList, NonsenseAndNumbersThatNoCpuHasAreNoList) {
    for (const auto* text : {"", "a", "1-", "-1", "3-1", "1,,2", "0-4294967295", "8192", "(null)", "0x", "1-2-3"})
        EXPECT_EQ(parse_cpu_list(text), std::nullopt) << text;
}

TEST(RootDirectory, ReadsWhatIsThere) {
    const RecordedTree tree;
    tree.add("a/number: 17\na/hexadecimal: 0x15b3\na/text:   words and more \na/driver -> ../x/mlx5_core");
    const auto root = tree.root();
    EXPECT_EQ(root.number("a/number"), 17);
    EXPECT_EQ(root.number("/a/number"), 17);
    EXPECT_EQ(root.number("a/hexadecimal"), 0x15b3);
    EXPECT_EQ(root.text("a/text"), "words and more");
    EXPECT_EQ(root.number("a/text"), std::nullopt);
    EXPECT_EQ(root.link_name("a/driver"), "mlx5_core");
    EXPECT_EQ(root.text("a/nothing"), std::nullopt);
    EXPECT_EQ(root.text("a"), std::nullopt);  // a directory
}

TEST(RootDirectory, NeitherHugeFilesNorPipesAreRead) {
    const RecordedTree tree;
    tree.write("limit", std::string(RootDirectory::max_file, 'x'));
    tree.write("huge", std::string(RootDirectory::max_file + 1, 'x'));
    ASSERT_EQ(mkfifo((tree.path() / "pipe").c_str(), 0600), 0);
    EXPECT_TRUE(tree.root().text("limit"));
    EXPECT_FALSE(tree.root().text("huge"));
    EXPECT_FALSE(tree.root().text("pipe"));
}

TEST(RootDirectory, NamesThatAShellWouldNotTakeAsOneWordAreLeftOut) {
    const RecordedTree tree;
    for (const auto* name : {"eth0", "0000:3b:00.0", "a;reboot", "$(reboot)", "a b", "-n", "a`b", "é"})
        tree.write(std::string("net/") + name, "");
    EXPECT_EQ(tree.root().entries("net"), (std::vector<std::string>{"0000:3b:00.0", "eth0"}));
}

TEST(FactReader, PortsAreNamedInThreeWays) {
    TunedServer server;
    for (const auto* name : {"0000:3b:00.0", "3b:00.0", "ens1f0np0", "mlx5_0"})
        EXPECT_EQ(server.facts({name}).ports.size(), 1u) << name;
    FactReader reader(server.tree.root(), server.programs);
    const std::vector<std::string> names{"mlx5_0", "lo"};
    const auto facts = reader.read(names);
    ASSERT_FALSE(facts);
    EXPECT_TRUE(facts.error().what.starts_with("lo is no PCI address")) << facts.error().what;
}

TEST(FactReader, DefaultRoutesOfBothFamiliesAreSeenInLongTables) {
    TunedServer server;
    const auto carries = [&] { return server.facts().ports[0].interfaces[0].default_route; };
    const std::string zeros(32, '0'), more(RootDirectory::max_file, 'x');
    EXPECT_FALSE(carries());
    server.tree.write("proc/net/route", "ens1f0np0\t0000000A\t0\t1\t0\t0\t0\t000000FF\t0\t0\t0\n");
    EXPECT_FALSE(carries());
    server.tree.write("proc/net/route", "ens1f0np0\t00000000\t0100000A\t3\t0\t0\t0\t00000000\t0\t0\t0\n" + more);
    EXPECT_TRUE(carries());
    server.tree.write("proc/net/route", "");
    const auto v6 = [&](std::string_view prefix, std::string_view interface) {
        server.tree.write("proc/net/ipv6_route",
                          fmt::format("{0} {1} {0} 00 fe800000000000000000000000000001 00000400 1 0 3 {2:>8}\n", zeros,
                                      prefix, interface));
    };
    v6("00", "lo");
    EXPECT_FALSE(carries());
    v6("40", "ens1f0np0");
    EXPECT_FALSE(carries());
    v6("00", "ens1f0np0");
    EXPECT_TRUE(carries());
}

TEST(FactReader, MalformedFilesAreNotKnown) {
    TunedServer server;
    const std::string huge(RootDirectory::max_file + 1, '0');
    for (const auto& content : {std::string("\xff\xfe;rm -rf /"), std::string("-99999999999999999999999"), huge}) {
        for (const auto* path :
             {"sys/devices/system/cpu/online", "sys/devices/system/cpu/isolated", "sys/devices/system/cpu/nohz_full",
              "proc/cmdline", "proc/self/status", "proc/net/route", "sys/kernel/mm/transparent_hugepage/enabled",
              "sys/devices/system/node/node0/hugepages/hugepages-1048576kB/free_hugepages"})
            server.tree.write(path, content);
        for (const auto* file : {"numa_node", "current_link_speed", "max_link_width", "config", "net/ens1f0np0/mtu",
                                 "net/ens1f0np0/carrier", "net/ens1f0np0/flags", "vendor"})
            server.tree.write(fmt::format("sys/bus/pci/devices/{}/{}", mlx5_port, file), content);
        const auto facts = server.facts();
        EXPECT_TRUE(facts.processor.cpus.empty());
        EXPECT_TRUE(facts.processor.isolated.empty());
        ASSERT_EQ(facts.ports.size(), 1u);
        EXPECT_FALSE(facts.ports[0].max_read_request);
        EXPECT_FALSE(facts.ports[0].node);
        for (const auto& finding : diagnose(facts)) EXPECT_LE(finding.severity, Severity::note) << finding.found;
    }
}

TEST(FactReader, CapabilityListThatLoopsEnds) {
    TunedServer server;
    auto config = config_space(0x2936);
    config[0x41] = 0x40;  // the first capability is followed by itself
    server.tree.write(fmt::format("sys/bus/pci/devices/{}/config", mlx5_port), config);
    EXPECT_FALSE(server.facts().ports[0].max_read_request);
    server.tree.write(fmt::format("sys/bus/pci/devices/{}/config", mlx5_port), config_space(0x2936).substr(0, 64));
    EXPECT_FALSE(server.facts().ports[0].max_read_request);  // as an ordinary user reads it
    server.tree.write(fmt::format("sys/bus/pci/devices/{}/config", mlx5_port), config_space(0x5936));
    EXPECT_EQ(server.facts().ports[0].max_read_request, 4096u);
}

TEST(FactReader, AnswersThatAreNoJsonOrAnotherAreNotKnown) {
    TunedServer server;
    for (const auto* answer : {"", "{", "[]", "null", "7", R"({"param":[]})", R"({"param":{"pci/0000:3b:00.0":{}}})",
                               R"({"param":{"pci/0000:3b:00.0":[{"name":"enable_roce","values":"x"}]}})",
                               R"([{"rx":"on","tx":1}])", R"([7])"}) {
        server.programs.answers[std::string(devlink_question)] = answer;
        server.programs.answers["ethtool --json -a ens1f0np0"] = answer;
        const auto facts = server.facts();
        EXPECT_FALSE(facts.ports[0].enable_roce) << answer;
        EXPECT_FALSE(facts.ports[0].interfaces[0].pause) << answer;
        EXPECT_TRUE(facts.missing_tools.empty());
    }
}

TEST(FactReader, KernelLineIsReadWhereTheKernelHasNoFile) {
    const RecordedTree tree;
    tree.add(
        "sys/devices/system/cpu/online: 0-7\n"
        "proc/cmdline: isolcpus=1 isolcpus=nohz,domain,2-N nohz_full=2-3 rcu_nocbs=all");
    NoPrograms programs;
    const auto facts = FactReader(tree.root(), programs).read({});
    ASSERT_TRUE(facts);
    EXPECT_EQ(to_string(facts->processor.isolated), "2-7");
    EXPECT_EQ(to_string(facts->processor.nohz_full), "2-3");
    EXPECT_EQ(to_string(facts->processor.rcu_offloaded), "0-7");
}

}  // namespace
}  // namespace verbline::doctor
