// SPDX-License-Identifier: BSD-3-Clause
// Whole machines: exactly these findings, each once, with its command.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/verbline/doctor/report.h"
#include "tests/apps/verbline/doctor/machines.h"

namespace verbline::doctor {
namespace {

using testing::HasSubstr;

/// The findings that are not ok.
std::string complaints(const Facts& facts) {
    auto findings = diagnose(facts);
    std::erase_if(findings, [](const Finding& one) { return one.severity == Severity::ok; });
    return render_text(findings);
}

TEST(Diagnose, TunedServerHasNoComplaints) {
    TunedServer server;
    const auto facts = server.facts();
    EXPECT_EQ(complaints(facts), "");
    EXPECT_EQ(complaint(diagnose(facts)), "");
    EXPECT_EQ(render_text(diagnose(facts)),
              R"(ok       0000:3b:00.0  mlx5_core, PCIe 16 GT/s x16, NUMA node 0, ens1f0np0 100 Gb/s MTU 9000
ok       cpu0-7        frequency governor is performance
ok       cpu0-7        no idle state takes 20 us or more to leave
ok       kernel        isolated CPUs: 1-3
ok       kernel        clock source is tsc
ok       node0         8 huge pages of 1 GB are free
ok       node1         8 huge pages of 1 GB are free
)");
}

TEST(Diagnose, UntunedServerHasEachFindingOnce) {
    TunedServer server;
    untune(server);
    auto facts = server.facts({"mlx5_0"});
    facts.lock_limit = LockLimit{.bytes = 8 * 1024 * 1024};
    const auto findings = diagnose(facts);
    EXPECT_EQ(complaints(facts),
              R"(warning  0000:3b:00.0  PCIe runs at 8 of 16 GT/s and 8 of 16 lanes: try another slot or BIOS setting
    lspci -vv -s 0000:3b:00.0 | grep -e LnkCap: -e LnkSta:
warning  0000:3b:00.0  PCIe read requests (MaxReadReq) are 512 bytes, not 1024
    setpci -s 0000:3b:00.0 CAP_EXP+8.w=3000:7000
warning  0000:3b:00.0  is on NUMA node 0, where no CPU is isolated
    find /etc/default/grub* -type f -exec sed -i -e 's/\bisolcpus=[^ "]*/isolcpus=2/' -e 's/\bnohz_full=[^ "]*/nohz_full=2/' {} + && mkdir -p /etc/default/grub.d && echo 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX rcu_nocbs=2"' >>/etc/default/grub.d/verbline.cfg && update-grub
warning  0000:3b:00.0  RoCE is on (GIDs: 2): the adapter keeps UDP port 4791 of its MAC for itself
    devlink dev param set pci/0000:3b:00.0 name enable_roce value false cmode driverinit && devlink dev reload pci/0000:3b:00.0
warning  ens1f0np0     no carrier: look at cable, module and the other end
    ethtool ens1f0np0
warning  ens1f0np0     flow control is on: receivers stop their senders, and no loss is seen
    ethtool -A ens1f0np0 rx off tx off
warning  cpu0-7        frequency governor is powersave, so the clock rate follows the load
    echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor
warning  cpu0-7        deep idle states are enabled: C6 takes 133 us to leave
    echo 1 | tee /sys/devices/system/cpu/cpu*/cpuidle/state2/disable
warning  cpu6          isolated, but not in nohz_full: the timer tick interrupts them
    find /etc/default/grub* -type f -exec sed -i -e 's/\bnohz_full=[^ "]*/nohz_full=4-6/' {} + && update-grub
warning  cpu6          isolated, but not in rcu_nocbs: they run the kernel's RCU callbacks
    mkdir -p /etc/default/grub.d && echo 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX rcu_nocbs=4-6"' >>/etc/default/grub.d/verbline.cfg && update-grub
warning  cpu5          isolated along with the other thread of the core: both share its units
    chcpu --disable 5
warning  kernel        clock source is hpet though there is tsc, which takes less to read
    echo tsc >/sys/devices/system/clocksource/clocksource0/current_clocksource
warning  node0         has ports and no free huge page; node1 has
    echo 2 >/sys/devices/system/node/node0/hugepages/hugepages-1048576kB/nr_hugepages
warning  limits        RDMA adapters lock memory, and only 8192 kB may be; log in again after this
    echo '* - memlock unlimited' >/etc/security/limits.d/rdma.conf
note     ens1f0np0     MTU is 1500: RoCE's path MTU of 4096 bytes needs 4200, on switches as well
    ip link set dev ens1f0np0 mtu 4200
note     cpu0-7        energy preference is balance_performance, not performance
    echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference
note     cpu           turbo is on: clock rates depend on temperature and on other cores
    echo 1 >/sys/devices/system/cpu/intel_pstate/no_turbo
note     memory        transparent huge pages everywhere: the kernel may stop threads to make them
    echo madvise >/sys/kernel/mm/transparent_hugepage/enabled
note     kernel        the IOMMU translates every access of the kernel's ports; iommu=pt spares it
    mkdir -p /etc/default/grub.d && echo 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX iommu=pt"' >>/etc/default/grub.d/verbline.cfg && update-grub
)");
    EXPECT_EQ(complaint(findings), "14 warnings");
}

TEST(Diagnose, InfinibandPortIsNotForDpdk) {
    TunedServer server;
    server.tree.add(R"(
        sys/bus/pci/devices/0000:3b:00.0/class: 0x020700
        sys/bus/pci/devices/0000:3b:00.0/net/ens1f0np0/type: 32
        sys/bus/pci/devices/0000:3b:00.0/net/ens1f0np0/mtu: 2044)");
    server.programs.answers[std::string(devlink_question)] = TunedServer::roce(true);  // of no effect there
    EXPECT_EQ(complaints(server.facts()),
              "warning  ens1f0np0  InfiniBand, as IPoIB needs; DPDK's mlx5 driver wants Ethernet; reboot after this\n"
              "    mlxconfig -d 0000:3b:00.0 set LINK_TYPE_P1=2\n");
}

TEST(Diagnose, VirtualMachineHasNoFalseFindings) {
    RecordedTree tree;
    tree.add(R"(
        sys/devices/system/cpu/online: 0-1
        sys/devices/system/cpu/cpu0/topology/thread_siblings_list: 0
        sys/devices/system/cpu/cpu1/topology/thread_siblings_list: 1
        sys/devices/system/clocksource/clocksource0/current_clocksource: kvm-clock
        sys/devices/system/clocksource/clocksource0/available_clocksource: kvm-clock acpi_pm
        sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages: 512
        sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages: 512
        sys/kernel/mm/transparent_hugepage/enabled: always [madvise] never
        proc/cmdline: root=/dev/vda1 quiet isolcpus=1 nohz_full=1
        proc/self/status: Cpus_allowed_list:	0
        sys/bus/pci/devices/0000:00:03.0/class: 0x020000
        sys/bus/pci/devices/0000:00:03.0/vendor: 0x1af4
        sys/bus/pci/devices/0000:00:03.0/device: 0x1041
        sys/bus/pci/devices/0000:00:03.0/numa_node: -1
        sys/bus/pci/devices/0000:00:03.0/driver -> ../../../bus/pci/drivers/virtio-pci
        sys/bus/pci/devices/0000:00:03.0/virtio0/net/eth0/type: 1
        sys/bus/pci/devices/0000:00:03.0/virtio0/net/eth0/mtu: 9000
        sys/bus/pci/devices/0000:00:03.0/virtio0/net/eth0/speed: -1
        sys/bus/pci/devices/0000:00:03.0/virtio0/net/eth0/flags: 0x1003
        sys/bus/pci/devices/0000:00:03.0/virtio0/net/eth0/carrier: 1)");
    tree.write("proc/net/route",
               "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
               "eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");
    RecordedPrograms programs;
    const auto facts = FactReader(tree.root(), programs).read({});
    ASSERT_TRUE(facts);
    EXPECT_EQ(complaints(*facts),
              "note     0000:00:03.0  eth0 carries the default route: use it as eth:eth0, not by DPDK\n");
}

TEST(Diagnose, LaptopWithoutAnythingHasNotesOnly) {
    RecordedTree tree;
    tree.add(R"(
        sys/devices/system/cpu/online: 0
        sys/bus/pci/devices/0000:00:14.3/class: 0x028000
        sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages: 0
        sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages: 0)");
    NoPrograms programs;
    const auto facts = FactReader(tree.root(), programs).read({});
    ASSERT_TRUE(facts);
    EXPECT_EQ(complaints(*facts), R"(note     pci     no Ethernet or InfiniBand adapter on PCI
    lspci | grep -i -e ethernet -e infiniband -e network
note     memory  no huge pages of any size: packet buffers lie in pages of 4 kB
    echo 1024 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
)");
}

TEST(Diagnose, EmptyTreeGivesNothingButThat) {
    const RecordedTree tree;
    NoPrograms programs;
    const auto facts = FactReader(tree.root(), programs).read({});
    ASSERT_TRUE(facts);
    EXPECT_EQ(diagnose(*facts).size(), 1u);
}

TEST(Diagnose, MissingProgramsAreNotes) {
    TunedServer server;
    server.programs.answers[std::string(devlink_question)] = failure(ENOENT, "there is no program");
    server.programs.answers["ethtool --json -a ens1f0np0"] = failure(ETIMEDOUT, "did not end in time");
    EXPECT_EQ(complaints(server.facts()),
              "note     devlink  is not installed; not checked: whether RoCE is enabled (enable_roce)\n"
              "    apt-get install iproute2\n"
              "note     ethtool  does not end in time; not checked: flow control\n");
}

TEST(Diagnose, WorstFindingsComeFirst) {
    TunedServer server;
    untune(server);
    server.tree.add("sys/bus/pci/devices/0000:3b:00.0/driver -> ../../../bus/pci/drivers/vfio-pci");
    const auto findings = diagnose(server.facts());
    EXPECT_EQ(findings.front().severity, Severity::error);
    EXPECT_TRUE(std::ranges::is_sorted(findings, std::greater(), &Finding::severity));
    EXPECT_THAT(complaint(findings), HasSubstr("1 error, "));
}

TEST(Report, JsonCanBeParsedBack) {
    TunedServer server;
    untune(server);
    auto facts = server.facts();
    facts.preflight.push_back({.subject = "run", .what = "\"quoted\"\n\x01 \xff `ninja install`"});
    const auto findings = diagnose(facts);
    const auto parsed = cli::Json::parse(cli::render_json(rows(findings)), nullptr, false);
    ASSERT_TRUE(parsed.is_array());
    ASSERT_EQ(parsed.size(), findings.size());
    for (std::size_t i = 0; i < findings.size(); ++i) {
        EXPECT_EQ(parsed[i]["severity"], name(findings[i].severity));
        EXPECT_EQ(parsed[i]["subject"], findings[i].subject);
        EXPECT_EQ(parsed[i]["command"], findings[i].command);
    }
}

TEST(Report, PrintsNoControlCharacters) {
    const auto text = render_text({{Severity::note, "a\033[2J", "b\nc", "d\r"}});
    EXPECT_EQ(text, "note     a?[2J  b?c\n    d?\n");
}

TEST(Report, BreaksLongLinesButNoCommands) {
    const std::string word(30, 'w'), command(150, 'c');
    const auto text = render_text({{Severity::note, "s", fmt::format("{0} {0} {0} {0}", word), command}});
    EXPECT_EQ(text, fmt::format("note     s  {0} {0}\n            {0} {0}\n    {1}\n", word, command));
    EXPECT_THAT(render_text({{Severity::note, "s", command, ""}}), HasSubstr(command));  // has no place for a break
}

TEST(Report, CommandOfPreflightIsThatInBackticks) {
    Facts facts;
    facts.preflight = {{.subject = "run tap:", .what = "install it with `ninja install`"},
                       {.subject = "run eth:", .what = "is for root", .permission = true}};
    const auto findings = check_programs(facts);
    ASSERT_EQ(findings.size(), 2u);
    EXPECT_EQ(findings[0].severity, Severity::warning);
    EXPECT_EQ(findings[0].command, "ninja install");
    EXPECT_EQ(findings[1].severity, Severity::note);
    EXPECT_EQ(findings[1].command, "");
}

}  // namespace
}  // namespace verbline::doctor
