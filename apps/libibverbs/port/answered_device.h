// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the devices that are answered in this process (rdma_cm, umad) have in common: open files behind descriptors of
/// the program, which may be closed anywhere, in signal handlers and in children as well.
///
///     open ── add ──> DescriptorTable, and the map that owns the files
///     close, dup2 ── closing, replaced ──> list of files to close ── take_closing ──> the device's control thread

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apps/libibverbs/port/descriptor_table.h"
#include "apps/libibverbs/port/hints.h"
#include "apps/libibverbs/port/owner.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"

namespace verbline::verbs {

/// As system calls return errors.
inline int fail_with(int code) noexcept {
    errno = code;
    return -1;
}

inline int fail_with(const Error& error) noexcept {
    hint(error);
    return fail_with(error.code);
}

/// Disables cancellation of the thread while it lives: system calls made inside may be cancellation points.
class Uncancelled {
public:
    Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    Uncancelled(const Uncancelled&) = delete;
    Uncancelled& operator=(const Uncancelled&) = delete;
    ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }

private:
    int before_ = 0;
};

/// Replaces the file at the number by one that answers reads and writes with EBADF (O_PATH), until the number is
/// closed. Async-signal-safe.
inline void bury(int descriptor) noexcept {
    const auto file = syscall(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC);
    if (file < 0) return;
    syscall(SYS_dup3, file, descriptor, O_CLOEXEC);
    syscall(SYS_close, file);
}

/// Whose file is behind a descriptor.
enum class Whose : std::uint8_t { programs, ours, parents };

/// Base of a `Device`, which has `get()` (the only one), `now()`, and `close(File&)`: async-signal-safe, ends with
/// `close_later`. A `File` has `descriptor`, `intact` (also as of a time), `abandoned` and `next_closing`.
///
/// Threads: any.
template <class Device, class File>
class AnsweredDevice {
public:
    AnsweredDevice(const AnsweredDevice&) = delete;
    AnsweredDevice& operator=(const AnsweredDevice&) = delete;

    /// One load. False is certain; `whose` verifies true.
    static bool may_own(int descriptor) noexcept { return table_.contains(descriptor); }
    /// Exact, except within a millisecond after a direct system call has put another file at the number. A number that
    /// is no longer ours is removed from the table.
    Whose whose(int descriptor) {
        if (!may_own(descriptor)) return Whose::programs;
        if (table_.is_closing(descriptor))
            return Owner::caller() == Owner::Caller::owner ? Whose::ours : Whose::parents;
        switch (Owner::caller()) {
            case Owner::Caller::borrower:
                // Locks and files are the parent's and must not be touched; query the kernel.
                return syscall(SYS_kcmp, getpid(), Owner::pid(), KCMP_FILE, descriptor, descriptor) == 0
                           ? Whose::parents
                           : Whose::programs;
            case Owner::Caller::copy: {
                // Copied locks may be held by threads that do not exist here, so nothing is locked.
                const auto* const file = table_.find(descriptor);
                if (file != nullptr && file->intact()) return Whose::parents;
                break;
            }
            case Owner::Caller::owner: {
                const auto file = find(descriptor);
                if (file == nullptr) return table_.is_closing(descriptor) ? Whose::ours : Whose::programs;
                const bool intact = file->abandoned() ? file->intact() : file->intact(device().now());
                if (intact) return file->abandoned() ? Whose::parents : Whose::ours;
                break;
            }
        }
        replaced(descriptor);
        return Whose::programs;
    }

    /// Call before the descriptor is closed: closes the file. Async-signal-safe.
    static void closing(int descriptor) noexcept {
        if (!may_own(descriptor)) return;
        if (Owner::in_copy() || !Owner::shares_descriptors()) return replaced(descriptor);
        const int before = errno;
        if (auto* const file = table_.begin_closing(descriptor)) {
            Device::get().close(*file);
            bury(descriptor);
            table_.end_closing(descriptor);
        }
        errno = before;
    }
    /// The same, after another file has taken its number.
    static void replaced(int descriptor) noexcept {
        if (!may_own(descriptor)) return;
        const int before = errno;
        if (Owner::in_copy()) {
            table_.take(descriptor);  // in our copy of the table
        } else if (Owner::shares_descriptors()) {
            if (auto* const file = table_.take(descriptor)) Device::get().close(*file);
        }
        errno = before;
    }
    /// The same as `closing` for all descriptors from `first` to `last`.
    static void closing(int first, int last) noexcept {
        for (int each = table_.next(first); each <= last && each < FileTable::capacity; each = table_.next(each + 1))
            closing(each);
    }

protected:
    using FileTable = DescriptorTable<File>;

    AnsweredDevice() = default;
    ~AnsweredDevice() = default;

    /// Returns the file's descriptor. Requires `mutex_`. EMFILE: its number is too high.
    Result<int> add(std::shared_ptr<File> file) {
        const int descriptor = file->descriptor();
        if (!FileTable::in_range(descriptor)) {
            ::close(descriptor);
            return failure(EMFILE, "the descriptor's number is too high");
        }
        auto& opened = *file;
        // Its descriptors are closed by the last who lets go of it. That may be a thread that is being cancelled, which
        // must not be there: destructors do not let a thread unwind.
        files_[&opened] = std::shared_ptr<File>(&opened, [file = std::move(file)](File*) mutable {
            const Uncancelled uncancelled;
            file.reset();
        });
        table_.put(descriptor, opened);
        return descriptor;
    }
    std::shared_ptr<File> find(int descriptor) {
        const std::scoped_lock lock(mutex_);
        const auto found = files_.find(table_.find(descriptor));
        return found != files_.end() ? found->second : nullptr;
    }
    /// Neither locks nor allocates: `take_closing` does the rest.
    void close_later(File& file) noexcept {
        auto* last = closing_.load(std::memory_order_relaxed);
        do {
            file.next_closing = last;
        } while (!closing_.compare_exchange_weak(last, &file));
    }
    /// Calls `act` for each file that is to be closed; it is open no more.
    template <class Act>
    void take_closing(Act act) {
        for (auto* each = closing_.exchange(nullptr); each != nullptr;) {
            auto* const next = each->next_closing;
            std::shared_ptr<File> file;
            {
                const std::scoped_lock lock(mutex_);
                file = files_.extract(each).mapped();
            }
            act(*file);
            each = next;
        }
    }
    /// In the child after fork, with `mutex_` held since before.
    void abandon_files() {
        for (const auto& [raw, file] : files_) file->abandon();
        closing_ = nullptr;
    }

    inline static constinit FileTable table_{};
    std::mutex mutex_;
    std::map<const File*, std::shared_ptr<File>> files_;
    bool forking_ = false;

private:
    Device& device() { return static_cast<Device&>(*this); }

    std::atomic<File*> closing_{nullptr};  ///< head of a list, newest first
};

}  // namespace verbline::verbs
