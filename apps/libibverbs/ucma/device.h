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

#include "apps/libibverbs/port/descriptor_table.h"
#include "apps/libibverbs/ucma/command.h"
#include "apps/libibverbs/ucma/engine.h"
#include "apps/libibverbs/ucma/event_channel.h"

namespace verbline::verbs {

class RdmaCmDevice {
    using ChannelTable = DescriptorTable<EventChannel>;

public:
    static constexpr const char* path = "/dev/infiniband/rdma_cm";

    static RdmaCmDevice& get();
    /// One load. False is certain; `whose` verifies true.
    static bool may_own(int descriptor) noexcept { return table_.contains(descriptor); }
    enum class Whose : std::uint8_t { programs, ours, parents };
    /// Exact, except within a millisecond after a direct system call has put another file at the number. A number that
    /// is no longer ours is removed from the table.
    Whose whose(int descriptor);

    int open(int flags);
    /// A cancellation point while it waits for an event.
    ssize_t write(int descriptor, const void* bytes, std::size_t size);
    /// Fills in the type and number of a character device, like the kernel's.
    static void describe(struct stat& about);
    /// Call before the descriptor is closed: closes the channel and its ids. Async-signal-safe.
    static void closing(int descriptor) noexcept;
    /// The same, after another file has taken its number.
    static void replaced(int descriptor) noexcept;
    /// The same for all descriptors from `first` to `last`.
    static void closing(int first, int last) noexcept;

private:
    RdmaCmDevice();
    std::shared_ptr<EventChannel> find(int descriptor);
    CmEngine* engine();
    ssize_t write_to_closing(int descriptor, const Command& command);
    void close(EventChannel& channel) noexcept;
    void close_channels();
    int run(const std::shared_ptr<EventChannel>& channel, const Command& command) noexcept;
    int get_event(const std::shared_ptr<EventChannel>& channel, const Command& command);
    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();
    void at_exit();

    static constinit ChannelTable table_;

    std::mutex mutex_;  ///< locked before the engine's
    std::unique_ptr<CmEngine> engine_;
    std::map<const EventChannel*, std::shared_ptr<EventChannel>> channels_;
    bool forking_ = false;
    std::atomic<EventChannel*> closing_{nullptr};  ///< head of a list, newest first
    // Rounds of closing. A channel put on the list during round n is closed when n + 1 rounds are done.
    std::atomic<std::uint32_t> rounds_begun_{0}, rounds_done_{0};
};

}  // namespace verbline::verbs
