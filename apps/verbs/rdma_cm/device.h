// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The rdma_cm device of this process: what is behind the descriptors that open("/dev/infiniband/rdma_cm") gives.
///
/// Nothing is started before it is first opened; then the devices that the settings name are opened, and the engine
/// starts its thread. Both stay until the process ends.
///
/// fork: descriptors that a child inherits are dead (EIO); closing them works. When it opens the device itself it gets
/// an engine of its own.
///
/// Threads: any. Errors as of system calls: -1 and errno.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include <sys/stat.h>
#include <sys/types.h>

#include "apps/verbs/rdma_cm/channel.h"
#include "apps/verbs/rdma_cm/command.h"
#include "apps/verbs/rdma_cm/descriptor_set.h"
#include "apps/verbs/rdma_cm/engine.h"

namespace verbline::verbs {

class RdmaCmDevice {
public:
    static constexpr const char* path = "/dev/infiniband/rdma_cm";

    static RdmaCmDevice& get();
    /// Most likely; false is certain. Cheap.
    static bool may_own(int descriptor) noexcept { return descriptors_.contains(descriptor); }
    /// For certain, but for a millisecond after a file took its place behind our back. Such a descriptor is forgotten.
    bool owns(int descriptor);

    int open(int flags);
    /// A cancellation point while it waits for an event.
    ssize_t write(int descriptor, const void* bytes, std::size_t size);
    /// Of a character device, as the kernel's is.
    static void describe(struct stat& about);
    /// The descriptor is about to be closed: so are its ids.
    void forget(int descriptor);

private:
    RdmaCmDevice();
    std::shared_ptr<Channel> find(int descriptor);
    Engine* engine();
    int run(const std::shared_ptr<Channel>& channel, const Command& command) noexcept;
    int get_event(const std::shared_ptr<Channel>& channel, const Command& command);
    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();
    void at_exit();

    static constinit DescriptorSet descriptors_;

    std::mutex mutex_;  ///< before the engine's
    std::unique_ptr<Engine> engine_;
    std::map<int, std::shared_ptr<Channel>> channels_;  ///< by descriptor
};

}  // namespace verbline::verbs
