// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The umad devices of this process: behind the descriptors that open("/dev/infiniband/umadN") returns.
///
/// Children, and close in signal handlers: as RdmaCmDevice (apps/libibverbs/ucma/device.h).
///
/// Threads: any. Errors are returned as by system calls: -1 and errno.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include <sys/stat.h>
#include <sys/types.h>

#include "apps/libibverbs/port/descriptor_table.h"
#include "apps/libibverbs/umad/open_file.h"
#include "apps/libibverbs/umad/service.h"

namespace verbline::verbs {

class UmadDevice {
    using FileTable = DescriptorTable<UmadFile>;

public:
    static UmadDevice& get();
    /// The N of "/dev/infiniband/umadN"; none: another file.
    static std::optional<unsigned> index_of(const char* path) noexcept;
    /// One load. False is certain; `whose` verifies true.
    static bool may_own(int descriptor) noexcept { return table_.contains(descriptor); }
    enum class Whose : std::uint8_t { programs, ours, parents };
    /// Exact, except within a millisecond after a direct system call has put another file at the number.
    Whose whose(int descriptor);

    int open(unsigned index, int flags);
    /// A cancellation point while it waits for a message.
    ssize_t read(int descriptor, void* bytes, std::size_t size);
    ssize_t write(int descriptor, const void* bytes, std::size_t size);
    int ioctl(int descriptor, unsigned long request, void* argument);
    /// Fills in the type and number of a character device, like the kernel's.
    static void describe(struct stat& about);
    /// Call before the descriptor is closed. Async-signal-safe.
    static void closing(int descriptor) noexcept;
    /// The same, after another file has taken its number.
    static void replaced(int descriptor) noexcept;
    /// The same for all descriptors from `first` to `last`.
    static void closing(int first, int last) noexcept;

private:
    UmadDevice();
    std::shared_ptr<UmadFile> find(int descriptor);
    Result<int> open_file(unsigned index, int flags);
    UmadService* service();
    void close(UmadFile& file) noexcept;
    void close_files();
    Result<void> run(UmadFile& file, unsigned long request, std::uint64_t argument);
    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();
    void at_exit();

    static constinit FileTable table_;

    std::mutex closing_mutex_;  ///< held while files are closed; locked before `mutex_`
    std::mutex mutex_;
    std::unique_ptr<UmadService> service_;
    std::map<const UmadFile*, std::shared_ptr<UmadFile>> files_;
    std::uint32_t last_id_ = 0;
    bool forking_ = false;
    std::atomic<UmadFile*> closing_{nullptr};  ///< head of a list, newest first
};

}  // namespace verbline::verbs
