// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The rdma_cm device of this process: what is behind the descriptors that open("/dev/infiniband/rdma_cm") gives.
///
/// Nothing is started before it is first opened; then the devices that the settings name are opened, and the engine
/// starts its thread. Both stay until the process ends.
///
/// Children: descriptors that they inherit are dead (EIO); closing them works, and is nothing to the parent, however
/// the child was made. A child of fork that opens the device itself gets an engine of its own.
///
/// close(2) is called in signal handlers and between vfork and exec, so it takes no lock and no memory: the channel is
/// taken out of the table and put on a list, and the control thread closes it.
///
///     close ──> table ── take ──> list of the closing ── eventfd ──> control thread: its ids are destroyed
///       └── waits for that, if there are ids; 50 ms at most, since it may have interrupted who holds the service
///
/// Threads: any. Errors as of system calls: -1 and errno.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include <sys/stat.h>
#include <sys/types.h>

#include "apps/libibverbs/ucma/channel.h"
#include "apps/libibverbs/ucma/channel_table.h"
#include "apps/libibverbs/ucma/command.h"
#include "apps/libibverbs/ucma/engine.h"

namespace verbline::verbs {

class RdmaCmDevice {
public:
    static constexpr const char* path = "/dev/infiniband/rdma_cm";

    static RdmaCmDevice& get();
    /// Most likely; false is certain. Cheap.
    static bool may_own(int descriptor) noexcept { return table_.contains(descriptor); }
    enum class Whose : std::uint8_t { programs, ours, parents };
    /// For certain, but for a millisecond after a file took its place behind our back. Such a descriptor is forgotten.
    Whose whose(int descriptor);

    int open(int flags);
    /// A cancellation point while it waits for an event.
    ssize_t write(int descriptor, const void* bytes, std::size_t size);
    /// Of a character device, as the kernel's is.
    static void describe(struct stat& about);
    /// The descriptor is about to be closed: so are its ids. Async-signal-safe.
    static void closing(int descriptor) noexcept;
    /// The same, where another file has taken its number already.
    static void replaced(int descriptor) noexcept;
    /// The same for all of them from `first` to `last`.
    static void closing(int first, int last) noexcept;

private:
    RdmaCmDevice();
    std::shared_ptr<Channel> find(int descriptor);
    Engine* engine();
    ssize_t write_to_closing(int descriptor, const Command& command);
    void close(Channel& channel) noexcept;
    void close_channels();
    int run(const std::shared_ptr<Channel>& channel, const Command& command) noexcept;
    int get_event(const std::shared_ptr<Channel>& channel, const Command& command);
    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();
    void at_exit();

    static constinit ChannelTable table_;

    std::mutex mutex_;  ///< before the engine's
    std::unique_ptr<Engine> engine_;
    std::map<const Channel*, std::shared_ptr<Channel>> channels_;
    bool forking_ = false;
    std::atomic<Channel*> closing_{nullptr};  ///< the last of a list
    // Rounds of closing. A channel that was put on the list during round n is closed when n + 1 are done.
    std::atomic<std::uint32_t> rounds_begun_{0}, rounds_done_{0};
};

}  // namespace verbline::verbs
