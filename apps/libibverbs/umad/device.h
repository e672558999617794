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

#include "apps/libibverbs/port/answered_device.h"
#include "apps/libibverbs/umad/open_file.h"
#include "apps/libibverbs/umad/service.h"
#include "pmd/base/clock.h"

namespace verbline::verbs {

class UmadDevice : public AnsweredDevice<UmadDevice, UmadFile> {
public:
    static UmadDevice& get();
    /// The N of "/dev/infiniband/umadN"; none: another file.
    static std::optional<unsigned> index_of(const char* path) noexcept;

    int open(unsigned index, int flags);
    /// A cancellation point while it waits for a message.
    ssize_t read(int descriptor, void* bytes, std::size_t size);
    ssize_t write(int descriptor, const void* bytes, std::size_t size);
    int ioctl(int descriptor, unsigned long request, void* argument);
    /// Fills in the type and number of a character device, like the kernel's.
    static void describe(struct stat& about);

private:
    friend AnsweredDevice;

    UmadDevice();
    static Time now() { return monotonic_now(); }
    Result<int> open_file(unsigned index, int flags);
    UmadService* service();
    void close(UmadFile& file) noexcept;
    void close_files();
    Result<void> run(UmadFile& file, unsigned long request, std::uint64_t argument);
    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();
    void at_exit();

    std::mutex closing_mutex_;  ///< held while files are closed; locked before `mutex_`
    std::unique_ptr<UmadService> service_;
    std::uint32_t last_id_ = 0;
};

}  // namespace verbline::verbs
