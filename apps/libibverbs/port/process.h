// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The per-process state: the devices that the settings name, and the ports of those that were opened.
///
/// Created by the first verb that needs it, and kept until the process ends, since programs call verbs from
/// destructors. Nothing is started before a device is opened.
///
/// A child has a copy of the state, or shares it, and has none of the threads (owner.h). Inherited contexts are dead
/// (EIO). A child of fork that opens a device itself gets a port and an address of its own.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include "apps/libibverbs/port/eal.h"
#include "apps/libibverbs/port/port.h"
#include "apps/libibverbs/settings/settings.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::verbs {

/// struct verbs_device of rdma-core, which libmlx5 and libefa look into behind ibv_device to see whether it is theirs.
struct DeviceEntry {
    ibv_device abi{};
    const void* operations = nullptr;
    int references = 1;
    void* list_links[2] = {};
    void* sysfs = nullptr;
    std::uint64_t core_support = 0;
    // Ours.
    unsigned index = 0;
};

class Process {
public:
    static Process& get();

    /// Returns null and sets errno if the settings are invalid (the reason is a line on standard error).
    std::vector<DeviceEntry>* devices();

    Result<VerbsPort*> open(const ibv_device& device);
    /// Of the device with this index.
    const Link& link(unsigned index) const { return settings_->links[index]; }
    Result<wire::Guid> guid(const ibv_device& device);
    /// The MAC address for links that have none.
    wire::MacAddress own_mac() const { return own_mac_; }

private:
    Process();
    static DeviceEntry& entry(const ibv_device& device) {
        return const_cast<DeviceEntry&>(reinterpret_cast<const DeviceEntry&>(device));
    }
    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();
    void new_identity();
    void at_exit();

    std::mutex mutex_;
    Result<Settings> settings_;
    std::vector<DeviceEntry> devices_;
    std::vector<std::unique_ptr<VerbsPort>> ports_;      ///< by index; null: not opened
    std::vector<std::unique_ptr<VerbsPort>> abandoned_;  ///< inherited from a parent
    wire::MacAddress own_mac_;
    FileDescriptor own_mac_lock_;  ///< of the proposed address; none: it is another
    unsigned generation_ = 0;      ///< forks between the process that began and this one
    Eal eal_;
    bool announced_ = false, forking_ = false;
};

/// Prints one line on standard error: the text of an error that the verbs can report by errno only.
void complain(const Error& error);

}  // namespace verbline::verbs
