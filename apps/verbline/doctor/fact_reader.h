// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Reads the facts of a machine from its /sys and /proc, below any directory, and changes nothing. Each concern is read
/// in a file of its own: read_processor.cc, read_memory.cc, read_ports.cc, read_interfaces.cc, read_programs.cc.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/verbline/doctor/facts.h"
#include "apps/verbline/doctor/programs.h"
#include "apps/verbline/doctor/root_directory.h"

namespace verbline::doctor {

class FactReader {
public:
    FactReader(RootDirectory root, Programs& programs) : root_(std::move(root)), programs_(programs) {}

    /// `ports`: PCI addresses, interfaces or RDMA devices; none: all ports. The error names the one that is not there.
    /// What is known of the calling process (lock_limit, preflight) is left out.
    Result<Facts> read(std::span<const std::string> ports);

private:
    Processor processor() const;
    Cpu cpu(unsigned number) const;
    std::vector<IdleState> idle_states(const std::string& cpu) const;
    /// Of a list that the kernel shows in a file, or else of the option of its command line.
    CpuSet told(const std::string& file, std::string_view option, unsigned last) const;

    Memory memory() const;
    void read_pools(std::vector<HugepagePool>& pools, const std::string& directory, int node) const;
    Iommu iommu() const;

    std::vector<Port> ports() const;
    Port port(const std::string& address) const;
    PciLink pci_link(const std::string& device) const;
    std::optional<unsigned> max_read_request(const std::string& device) const;

    std::vector<Interface> interfaces(const std::string& device) const;
    Interface interface(const std::string& directory, const std::string& name) const;
    bool has_default_route(const std::string& name) const;
    std::vector<RdmaDevice> rdma_devices(const std::string& device) const;

    void ask_devlink(Facts& facts);
    void ask_ethtool(Facts& facts);
    bool add_missing(Facts& facts, const Error& error, MissingTool tool) const;

    /// The value of `option=` on the kernel's command line, the last one if there are several.
    std::optional<std::string> kernel_option(std::string_view option) const;
    std::set<std::string> boot_options() const;

    RootDirectory root_;
    Programs& programs_;
};

}  // namespace verbline::doctor
