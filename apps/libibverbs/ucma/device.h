// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The rdma_cm device of this process: behind the descriptors that open("/dev/infiniband/rdma_cm") returns.
///
/// The first open opens the devices that the settings name and starts the engine and its thread. All of them stay until
/// the process ends.
///
/// Children: inherited descriptors are dead (EIO); closing them works and does not affect the parent, however the child
/// was made. A child of fork that opens the device itself gets an engine of its own.
///
/// close(2) may be called in signal handlers and between vfork and exec, so it neither locks nor allocates: it moves
/// the channel from the table to a list, and the control thread destroys its ids.
///
///     close ──> table ── take ──> list of the closing ── eventfd ──> control thread: its ids are destroyed
///       └── waits for that if there are ids; 50 ms at most: the interrupted thread may hold the service
///
/// Threads: any. Errors are returned as by system calls: -1 and errno.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include <sys/stat.h>
#include <sys/types.h>

#include "apps/libibverbs/port/answered_device.h"
#include "apps/libibverbs/ucma/command.h"
#include "apps/libibverbs/ucma/engine.h"
#include "apps/libibverbs/ucma/event_channel.h"

namespace verbline::verbs {

class RdmaCmDevice : public AnsweredDevice<RdmaCmDevice, EventChannel> {
public:
    static constexpr const char* path = "/dev/infiniband/rdma_cm";

    static RdmaCmDevice& get();
    int open(int flags);
    /// A cancellation point while it waits for an event.
    ssize_t write(int descriptor, const void* bytes, std::size_t size);
    /// Fills in the type and number of a character device, like the kernel's.
    static void describe(struct stat& about);

private:
    friend AnsweredDevice;

    RdmaCmDevice();
    Time now() const { return engine_->now(); }
    CmEngine* engine();
    ssize_t write_to_closing(int descriptor, const Command& command);
    /// Also closes its ids.
    void close(EventChannel& channel) noexcept;
    void close_channels();
    int run(const std::shared_ptr<EventChannel>& channel, const Command& command) noexcept;
    int get_event(const std::shared_ptr<EventChannel>& channel, const Command& command);
    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();
    void at_exit();

    std::unique_ptr<CmEngine> engine_;  ///< its mutex is locked after ours
    // Rounds of closing. A channel put on the list during round n is closed when n + 1 rounds are done.
    std::atomic<std::uint32_t> rounds_begun_{0}, rounds_done_{0};
};

}  // namespace verbline::verbs
