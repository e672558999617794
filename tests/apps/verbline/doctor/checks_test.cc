// SPDX-License-Identifier: BSD-3-Clause
// Single checks, where whole machines do not show a case.
#include "apps/verbline/doctor/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace verbline::doctor {
namespace {

using testing::HasSubstr;

Port mlx5() {
    return {.address = "0000:3b:00.1",
            .vendor = 0x15b3,
            .device = 0x101d,
            .driver = "mlx5_core",
            .interfaces = {{.name = "eth1", .type = Interface::ethernet}}};
}
Port intel(std::string driver) {
    return {.address = "0000:5e:00.0", .vendor = 0x8086, .device = 0x1592, .driver = std::move(driver)};
}

TEST(CheckDriver, Mlx5StaysWithItsKernelDriver) {
    auto port = mlx5();
    EXPECT_TRUE(check_driver(port).empty());
    port.driver = "vfio-pci";
    ASSERT_EQ(check_driver(port).size(), 1u);
    EXPECT_EQ(check_driver(port)[0].severity, Severity::error);
    EXPECT_EQ(check_driver(port)[0].command, "dpdk-devbind.py --bind=mlx5_core 0000:3b:00.1");
    port.virtual_function = true;  // perhaps a virtual machine's
    EXPECT_EQ(check_driver(port)[0].severity, Severity::note);
    port.named = true;
    EXPECT_EQ(check_driver(port)[0].severity, Severity::error);
    port.driver = "";
    ASSERT_EQ(check_driver(port).size(), 1u);
    EXPECT_EQ(check_driver(port)[0].command, "modprobe mlx5_core");
}

TEST(CheckDriver, OtherAdaptersAreForVfio) {
    EXPECT_TRUE(check_driver(intel("vfio-pci")).empty());
    ASSERT_EQ(check_driver(intel("ice")).size(), 1u);
    EXPECT_EQ(check_driver(intel("ice"))[0].severity, Severity::note);
    EXPECT_EQ(check_driver(intel("ice"))[0].command, "dpdk-devbind.py --bind=vfio-pci 0000:5e:00.0");
    EXPECT_THAT(check_driver(intel(""))[0].found, HasSubstr("no driver"));
    auto mlx4 = mlx5();
    mlx4.device = 0x1007;
    mlx4.driver = "vfio-pci";
    EXPECT_TRUE(check_driver(mlx4).empty());
}

TEST(CheckVfio, DriverIsMissedOnlyWhereAPortNeedsIt) {
    EXPECT_TRUE(check_vfio({.ports = {mlx5(), intel("vfio-pci")}}).empty());
    EXPECT_TRUE(check_vfio({.vfio_pci = true, .ports = {intel("ice")}}).empty());
    const auto findings = check_vfio({.ports = {intel("ice"), intel("i40e")}});
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].command, "modprobe vfio-pci");
}

TEST(CheckIommu, VfioNeedsIt) {
    Facts facts{.ports = {intel("vfio-pci")}};
    ASSERT_EQ(check_iommu(facts).size(), 1u);
    EXPECT_EQ(check_iommu(facts)[0].severity, Severity::error);
    EXPECT_THAT(check_iommu(facts)[0].command, HasSubstr("intel_iommu=on iommu=pt\""));
    facts.iommu.vfio_without = true;
    ASSERT_EQ(check_iommu(facts).size(), 1u);
    EXPECT_EQ(check_iommu(facts)[0].severity, Severity::note);
    facts.iommu.on = true;
    EXPECT_TRUE(check_iommu(facts).empty());
}

TEST(CheckIommu, TranslationForKernelPortsIsNoted) {
    Facts facts{.iommu = {.on = true}, .ports = {mlx5()}};
    EXPECT_EQ(check_iommu(facts).size(), 1u);
    facts.ports[0].iommu_domain = "identity";
    EXPECT_TRUE(check_iommu(facts).empty());
    facts.ports[0].iommu_domain.reset();
    facts.iommu.passthrough = true;
    EXPECT_TRUE(check_iommu(facts).empty());
    facts.iommu = {};
    EXPECT_TRUE(check_iommu(facts).empty());
}

TEST(CheckRoce, IsKnownByTheParameterOrByGids) {
    auto port = mlx5();
    EXPECT_TRUE(check_roce(port).empty());
    port.rdma_devices = {{.name = "mlx5_1", .roce_gids = 4}};
    ASSERT_EQ(check_roce(port).size(), 1u);
    EXPECT_THAT(check_roce(port)[0].command, HasSubstr("enable_roce value false"));
    port.enable_roce = false;  // set, and the device not yet reloaded
    ASSERT_EQ(check_roce(port).size(), 1u);
    EXPECT_EQ(check_roce(port)[0].command, "devlink dev reload pci/0000:3b:00.1");
    port.rdma_devices[0].roce_gids = 0;
    EXPECT_TRUE(check_roce(port).empty());
}

TEST(CheckInterfaces, AnInterfaceThatIsDownIsNotAskedForItsCarrier) {
    auto port = mlx5();
    port.interfaces[0].up = false;
    const auto findings = check_interfaces(port);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].command, "ip link set dev eth1 up");
    EXPECT_EQ(findings[0].severity, Severity::note);
    port.named = true;
    EXPECT_EQ(check_interfaces(port)[0].severity, Severity::warning);
}

TEST(CheckInterfaces, SecondFunctionIsTheSecondPort) {
    auto port = mlx5();
    port.interfaces[0].type = Interface::infiniband;
    EXPECT_EQ(check_interfaces(port)[0].command, "mlxconfig -d 0000:3b:00.1 set LINK_TYPE_P2=2");
}

TEST(CheckInterfaces, MtuForTheLargestPathMtu) {
    auto port = mlx5();
    port.interfaces[0].mtu = 4199;
    EXPECT_EQ(check_interfaces(port).size(), 1u);
    port.interfaces[0].mtu = 4200;
    EXPECT_TRUE(check_interfaces(port).empty());
}

TEST(CheckPci, ReadRequestsOfAVirtualFunctionAreNotItsOwn) {
    auto port = mlx5();
    port.max_read_request = 128;
    EXPECT_EQ(check_pci({}, port).size(), 1u);
    port.virtual_function = true;
    EXPECT_TRUE(check_pci({}, port).empty());
}

TEST(CheckPci, NumaNodeCountsOnlyWhereThereAreSeveral) {
    Facts facts;
    facts.memory.nodes = {0};
    auto port = mlx5();
    port.node = -1;
    EXPECT_TRUE(check_pci(facts, port).empty());
    facts.memory.nodes = {0, 1};
    ASSERT_EQ(check_pci(facts, port).size(), 1u);
    EXPECT_EQ(check_pci(facts, port)[0].severity, Severity::note);
    port.node = 1;
    facts.processor.cpus = {{.number = 0, .node = 0}, {.number = 1, .node = 1}};
    facts.processor.allowed = {0};
    ASSERT_EQ(check_pci(facts, port).size(), 1u);
    EXPECT_EQ(check_pci(facts, port)[0].command, "taskset -cp 1 $$");
    facts.processor.allowed = {0, 1};
    EXPECT_TRUE(check_pci(facts, port).empty());
}

TEST(CheckIsolation, ProposesOneThreadOfEachCoreNearThePort) {
    Facts facts;
    for (unsigned cpu = 0; cpu < 8; ++cpu)
        facts.processor.cpus.push_back({.number = cpu, .node = cpu % 2, .siblings = {cpu % 4, cpu % 4 + 4}});
    facts.ports = {mlx5()};
    facts.ports[0].node = 1;
    const auto findings = check_isolation(facts);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].severity, Severity::warning);
    EXPECT_THAT(findings[0].command, HasSubstr(" isolcpus=3 nohz_full=3 rcu_nocbs=3\""));
}

TEST(CheckHugepages, AllInUse) {
    Facts facts{.memory = {.nodes = {0}, .pools = {{.page_kb = 2048, .total = 512, .free = 0}}}, .ports = {mlx5()}};
    const auto findings = check_hugepages(facts);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].severity, Severity::warning);
    EXPECT_EQ(findings[0].found, "all 512 huge pages of 2 MB are in use");
    EXPECT_EQ(findings[0].command, "echo 1536 >/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages");
}

TEST(CheckMemoryLock, LimitCountsUnlessTheProcessIsExempt) {
    Facts facts{.lock_limit = LockLimit{.bytes = 65536}};
    EXPECT_EQ(check_memory_lock(facts)[0].severity, Severity::note);
    facts.ports = {mlx5()};
    facts.ports[0].rdma_devices = {{.name = "mlx5_0"}};
    EXPECT_EQ(check_memory_lock(facts)[0].severity, Severity::warning);
    facts.lock_limit->exempt = true;
    EXPECT_EQ(check_memory_lock(facts)[0].severity, Severity::ok);
    facts.lock_limit = LockLimit{};  // unlimited
    EXPECT_EQ(check_memory_lock(facts)[0].severity, Severity::ok);
    facts.lock_limit.reset();  // not known
    EXPECT_TRUE(check_memory_lock(facts).empty());
}

TEST(CheckClock, TscThatTheKernelHasGivenUp) {
    Facts facts;
    EXPECT_TRUE(check_clock(facts).empty());
    facts.processor.clock_source = "hpet";
    facts.processor.clock_sources = {"hpet", "acpi_pm"};
    ASSERT_EQ(check_clock(facts).size(), 1u);
    EXPECT_THAT(check_clock(facts)[0].command, HasSubstr("dmesg"));
    facts.processor.clock_source = "arch_sys_counter";
    EXPECT_TRUE(check_clock(facts).empty());
}

TEST(CheckFrequency, EnergyPreferenceUnderTheRightGovernorIsAWarning) {
    Facts facts;
    facts.processor.cpus = {{.number = 0, .governor = "performance", .energy_preference = "power"}};
    facts.processor.boost = true;
    const auto findings = check_frequency(facts);
    ASSERT_EQ(findings.size(), 3u);
    EXPECT_EQ(findings[1].severity, Severity::warning);
    EXPECT_EQ(findings[2].command, "echo 0 >/sys/devices/system/cpu/cpufreq/boost");
}

TEST(CheckIdleStates, SeveralStatesAreOnePattern) {
    Facts facts;
    facts.processor.cpus = {{.number = 0,
                             .idle_states = {{.index = 1, .name = "C1", .latency_us = 2},
                                             {.index = 2, .name = "C1E", .latency_us = 20},
                                             {.index = 3, .name = "C6", .latency_us = 133}}}};
    const auto findings = check_idle_states(facts);
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_THAT(findings[0].command, HasSubstr("/cpuidle/state[23]/disable"));
}

}  // namespace
}  // namespace verbline::doctor
