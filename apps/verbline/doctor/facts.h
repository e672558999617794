// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What is known of a machine, as plain structs: made by fact_reader.h, judged by checks.h. An optional without a value
/// could not be read, and nothing is concluded from it.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace verbline::doctor {

using CpuSet = std::set<unsigned>;

struct IdleState {
    unsigned index = 0;  ///< of the kernel's directory, "state2"
    std::string name;
    std::int64_t latency_us = 0;  ///< to leave it
    bool enabled = true;
};

struct Cpu {
    unsigned number = 0;
    std::optional<int> node;  ///< NUMA
    CpuSet siblings;          ///< threads of its core, itself included
    std::optional<std::string> governor, energy_preference;
    std::vector<IdleState> idle_states;
};

struct Processor {
    std::vector<Cpu> cpus;                      ///< those online
    CpuSet allowed;                             ///< where this process may run
    CpuSet isolated, nohz_full, rcu_offloaded;  ///< as the kernel was told
    std::optional<bool> intel_no_turbo, boost;  ///< the two interfaces of the kernel for it
    std::optional<std::string> clock_source;
    std::vector<std::string> clock_sources;  ///< that the kernel offers
};

/// Pages of one size on one NUMA node.
struct HugepagePool {
    int node = 0;
    std::uint64_t page_kb = 0, total = 0, free = 0;
};

struct Memory {
    std::vector<int> nodes;  ///< NUMA nodes of the machine
    std::vector<HugepagePool> pools;
    std::optional<std::string> transparent;  ///< always, madvise, never
};

/// RLIMIT_MEMLOCK of this process.
struct LockLimit {
    std::optional<std::uint64_t> bytes;  ///< none: unlimited
    bool exempt = false;                 ///< CAP_IPC_LOCK
};

struct Pause {
    bool receive = false, transmit = false;
};

struct Interface {
    static constexpr std::int64_t ethernet = 1, infiniband = 32;  ///< ARPHRD_ETHER, ARPHRD_INFINIBAND

    std::string name;
    std::optional<std::int64_t> type, mtu, speed_mbps;
    std::optional<bool> up, carrier;
    bool default_route = false;
    std::optional<Pause> pause;
};

struct RdmaDevice {
    std::string name;
    unsigned roce_gids = 0;  ///< entries of the GID table of a RoCE type
};

struct PciLink {
    std::optional<double> gigatransfers, max_gigatransfers;  ///< GT/s
    std::optional<std::int64_t> width, max_width;            ///< lanes
};

/// A function of a network adapter on PCI.
struct Port {
    std::string address;  ///< 0000:3b:00.0
    std::int64_t vendor = 0, device = 0;
    bool named = false;  ///< on the command line: it is to be used, and not merely there
    std::string driver;  ///< empty: none is bound
    bool virtual_function = false;
    std::optional<std::int64_t> node;  ///< NUMA; -1: the firmware does not say
    PciLink link;
    std::optional<unsigned> max_read_request;
    std::optional<std::string> iommu_domain;  ///< type of its IOMMU group: identity, DMA, DMA-FQ
    std::vector<Interface> interfaces;
    std::vector<RdmaDevice> rdma_devices;
    std::optional<bool> enable_roce;  ///< devlink's parameter

    /// An adapter of the mlx5 driver, whichever driver has it now: ConnectX-4 and later, BlueField.
    bool is_mlx5() const { return vendor == 0x15b3 && device >= 0x1011; }
};

struct Iommu {
    bool on = false;
    bool passthrough = false;   ///< asked for on the kernel's command line
    bool vfio_without = false;  ///< vfio is told to work without an IOMMU
};

/// A program that could not be asked, and what is therefore not known.
struct MissingTool {
    std::string program, package, unknown;
    bool installed = false;  ///< it is, but did not end in time
};

/// What the preflight of `verbline run` says of one kind of link.
struct PreflightError {
    std::string subject, what;
    bool permission = false;  ///< it is this user's rights that are missing
};

struct Facts {
    std::set<std::string> boot_options;  ///< names of those on the kernel's command line that have a value
    Processor processor;
    Memory memory;
    std::optional<LockLimit> lock_limit;
    Iommu iommu;
    bool vfio_pci = false;  ///< the driver is there
    std::vector<Port> ports;
    std::vector<MissingTool> missing_tools;
    std::vector<PreflightError> preflight;
};

}  // namespace verbline::doctor
