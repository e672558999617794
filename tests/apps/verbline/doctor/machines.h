// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Machines whose trees are made by hand, from the kernel's documentation of these files.

#include "tests/apps/verbline/doctor/recorded_tree.h"

namespace verbline::doctor {

constexpr std::string_view mlx5_port = "0000:3b:00.0";
constexpr std::string_view devlink_question = "devlink -j dev param show";

/// Two sockets of four cores; a ConnectX-6 Dx on socket 0; everything as it should be.
class TunedServer {
public:
    RecordedTree tree;
    RecordedPrograms programs;

    TunedServer() {
        for (unsigned cpu = 0; cpu < 8; ++cpu) add_cpu(cpu);
        tree.add(R"(
            sys/devices/system/cpu/online: 0-7
            sys/devices/system/cpu/isolated: 1-3
            sys/devices/system/cpu/nohz_full: 1-3
            sys/devices/system/cpu/intel_pstate/no_turbo: 1
            sys/devices/system/clocksource/clocksource0/current_clocksource: tsc
            sys/devices/system/clocksource/clocksource0/available_clocksource: tsc hpet acpi_pm
            sys/kernel/mm/transparent_hugepage/enabled: always [madvise] never
            sys/kernel/iommu_groups/12/type: identity
            proc/cmdline: root=/dev/sda1 isolcpus=nohz,domain,1-3 nohz_full=1-3 rcu_nocbs=1-3 iommu=pt
            proc/self/status: Cpus_allowed_list:	0,4-7)");
        for (const int node : {0, 1}) {
            add_pages(node, 1048576, 8, 8);
            add_pages(node, 2048, 0, 0);
        }
        add_port();
        programs.answers[std::string(devlink_question)] = roce(false);
        programs.answers["ethtool --json -a ens1f0np0"] = pause(false);
    }

    void add_cpu(unsigned cpu) const {
        tree.add(fmt::format(R"(
            sys/devices/system/cpu/cpu{0}/node{1} -> ../../node/node{1}
            sys/devices/system/cpu/cpu{0}/topology/thread_siblings_list: {0}
            sys/devices/system/cpu/cpu{0}/cpufreq/scaling_governor: performance
            sys/devices/system/cpu/cpu{0}/cpufreq/energy_performance_preference: performance)",
                             cpu, cpu / 4));
        add_idle_state(cpu, 0, "POLL", 0, false);
        add_idle_state(cpu, 1, "C1", 2, false);
        add_idle_state(cpu, 2, "C6", 133, true);
    }
    void add_idle_state(unsigned cpu, unsigned index, std::string_view name, unsigned latency, bool disabled) const {
        const auto state = fmt::format("sys/devices/system/cpu/cpu{}/cpuidle/state{}", cpu, index);
        tree.add(
            fmt::format("{0}/name: {1}\n{0}/latency: {2}\n{0}/disable: {3}", state, name, latency, disabled ? 1 : 0));
    }
    void add_pages(int node, unsigned size, unsigned total, unsigned free) const {
        const auto pages = fmt::format("sys/devices/system/node/node{}/hugepages/hugepages-{}kB", node, size);
        tree.add(fmt::format("{0}/nr_hugepages: {1}\n{0}/free_hugepages: {2}", pages, total, free));
    }
    void add_port() const {
        tree.add(R"(
            sys/bus/pci/devices/0000:00:1f.0/class: 0x060100
            sys/bus/pci/devices/0000:3b:00.0/class: 0x020000
            sys/bus/pci/devices/0000:3b:00.0/vendor: 0x15b3
            sys/bus/pci/devices/0000:3b:00.0/device: 0x101d
            sys/bus/pci/devices/0000:3b:00.0/driver -> ../../../../bus/pci/drivers/mlx5_core
            sys/bus/pci/devices/0000:3b:00.0/numa_node: 0
            sys/bus/pci/devices/0000:3b:00.0/current_link_speed: 16.0 GT/s PCIe
            sys/bus/pci/devices/0000:3b:00.0/max_link_speed: 16.0 GT/s PCIe
            sys/bus/pci/devices/0000:3b:00.0/current_link_width: 16
            sys/bus/pci/devices/0000:3b:00.0/max_link_width: 16
            sys/bus/pci/devices/0000:3b:00.0/iommu_group/type: identity
            sys/bus/pci/devices/0000:3b:00.0/net/ens1f0np0/type: 1
            sys/bus/pci/devices/0000:3b:00.0/net/ens1f0np0/mtu: 9000
            sys/bus/pci/devices/0000:3b:00.0/net/ens1f0np0/speed: 100000
            sys/bus/pci/devices/0000:3b:00.0/net/ens1f0np0/flags: 0x1003
            sys/bus/pci/devices/0000:3b:00.0/net/ens1f0np0/carrier: 1
            sys/bus/pci/devices/0000:3b:00.0/infiniband/mlx5_0/node_type: 1: CA)");
        tree.write(fmt::format("sys/bus/pci/devices/{}/config", mlx5_port), config_space(0x3936));
    }
    void add_gid(unsigned index, std::string_view type) const {
        tree.add(fmt::format("sys/bus/pci/devices/{}/infiniband/mlx5_0/ports/1/gid_attrs/types/{}: {}", mlx5_port,
                             index, type));
    }

    static std::string roce(bool on) {
        return fmt::format(R"({{"param":{{"pci/{}":[
            {{"name":"enable_eth","type":"generic","values":[{{"cmode":"driverinit","value":true}}]}},
            {{"name":"enable_roce","type":"generic","values":[{{"cmode":"driverinit","value":{}}}]}}]}}}})",
                           mlx5_port, on);
    }
    static std::string pause(bool on) {
        return fmt::format(R"([{{"ifname":"ens1f0np0","autonegotiate":false,"rx":{0},"tx":{0}}}])", on);
    }

    Facts facts(const std::vector<std::string>& ports = {}) {
        auto read = FactReader(tree.root(), programs).read(ports);
        return read ? std::move(*read) : Facts();
    }
};

/// The same machine as it comes from the box.
inline void untune(TunedServer& server) {
    for (unsigned cpu = 0; cpu < 8; ++cpu) {
        server.tree.add(fmt::format("sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor: powersave", cpu));
        server.tree.add(fmt::format(
            "sys/devices/system/cpu/cpu{}/cpufreq/energy_performance_preference: balance_performance", cpu));
        server.tree.add(fmt::format("sys/devices/system/cpu/cpu{0}/topology/thread_siblings_list: {1},{2}", cpu,
                                    cpu / 2 * 2, cpu / 2 * 2 + 1));
        server.add_idle_state(cpu, 2, "C6", 133, false);
    }
    server.tree.add(R"(
        sys/devices/system/cpu/isolated: 4-6
        sys/devices/system/cpu/nohz_full: 4-5
        sys/devices/system/cpu/intel_pstate/no_turbo: 0
        sys/devices/system/clocksource/clocksource0/current_clocksource: hpet
        sys/kernel/mm/transparent_hugepage/enabled: [always] madvise never
        proc/cmdline: root=/dev/sda1 isolcpus=4-6 nohz_full=4-5
        sys/bus/pci/devices/0000:3b:00.0/current_link_speed: 8.0 GT/s PCIe
        sys/bus/pci/devices/0000:3b:00.0/current_link_width: 8
        sys/bus/pci/devices/0000:3b:00.0/iommu_group/type: DMA-FQ
        sys/bus/pci/devices/0000:3b:00.0/net/ens1f0np0/mtu: 1500
        sys/bus/pci/devices/0000:3b:00.0/net/ens1f0np0/carrier: 0)");
    server.add_pages(0, 1048576, 0, 0);
    server.tree.write(fmt::format("sys/bus/pci/devices/{}/config", mlx5_port), config_space(0x2936));
    server.add_gid(0, "IB/RoCE v1");
    server.add_gid(1, "RoCE v2");
    server.programs.answers[std::string(devlink_question)] = TunedServer::roce(true);
    server.programs.answers["ethtool --json -a ens1f0np0"] = TunedServer::pause(true);
}

}  // namespace verbline::doctor
