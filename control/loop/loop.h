// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The control thread's event loop: file descriptors, timers, and tasks posted by other threads.
///
/// One thread owns a Loop and makes every call, except `post` and `stop`, which any thread may make. Callbacks run on
/// the owner's thread, one at a time, and may do anything to the loop, their own removal included.
///
/// `watch`, `at`, `after` and `every` return handles: destroying one cancels the watch or timer. Handles must not
/// outlive the loop. Times are nanoseconds of CLOCK_MONOTONIC; waits are rounded up to whole milliseconds.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <sys/epoll.h>

#include "pmd/base/error.h"
#include "pmd/base/event_descriptor.h"
#include "pmd/base/file_descriptor.h"
#include "pmd/base/time.h"

namespace verbline::control {

class Loop;

/// A watch or timer of a loop, cancelled with the handle. Movable; empty when default-constructed or moved from.
template <void (*Cancel)(Loop&, std::uint64_t)>
class Handle {
public:
    Handle() = default;
    Handle(Loop& loop, std::uint64_t id) : loop_(&loop), id_(id) {}
    Handle(Handle&& other) noexcept : loop_(std::exchange(other.loop_, nullptr)), id_(other.id_) {}
    Handle& operator=(Handle&& other) noexcept {
        if (this == &other) return *this;
        cancel();
        loop_ = std::exchange(other.loop_, nullptr);
        id_ = other.id_;
        return *this;
    }
    ~Handle() { cancel(); }

    void cancel() {
        if (auto* loop = std::exchange(loop_, nullptr)) Cancel(*loop, id_);
    }
    /// Whether there is something to cancel. A one-shot timer that has fired still counts.
    explicit operator bool() const { return loop_ != nullptr; }

private:
    Loop* loop_ = nullptr;
    std::uint64_t id_ = 0;
};

namespace detail {
void cancel_watch(Loop& loop, std::uint64_t id);
void cancel_timer(Loop& loop, std::uint64_t id);
}  // namespace detail

using Watch = Handle<detail::cancel_watch>;
using Timer = Handle<detail::cancel_timer>;

class Loop {
public:
    using Task = std::function<void()>;
    using Ready = std::function<void(std::uint32_t events)>;  ///< given the EPOLL* bits that are set

    /// Fails only if the process is out of file descriptors or the kernel of memory.
    static Result<std::unique_ptr<Loop>> create();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    Time now() const;

    /// Calls `ready` while any of `events` holds (level-triggered). The descriptor stays the caller's; destroy the
    /// Watch before closing it.
    [[nodiscard]] Result<Watch> watch(int fd, Ready ready, std::uint32_t events = EPOLLIN);

    [[nodiscard]] Timer at(Time when, Task task);
    [[nodiscard]] Timer after(Time delay, Task task) { return at(now() + delay, std::move(task)); }
    /// Fires first after one period. If the loop was delayed, missed periods are skipped.
    [[nodiscard]] Timer every(Time period, Task task);

    /// From any thread: run `task` on the owner's thread. Tasks run in the order posted.
    void post(Task task);

    /// Runs until `stop`.
    void run();
    /// From any thread: `run` returns after the callbacks under way. A stop before `run` makes `run` return at once.
    void stop();
    /// Waits at most `max_wait` for events, handles what is due, and returns.
    void run_once(Time max_wait);

private:
    friend void detail::cancel_watch(Loop&, std::uint64_t);
    friend void detail::cancel_timer(Loop&, std::uint64_t);

    struct Watched {
        int fd;
        Ready ready;
    };
    struct Alarm {
        Time due;
        Time period;  ///< 0: once
        Task task;
    };

    Loop(FileDescriptor epoll, EventDescriptor wake) : epoll_(std::move(epoll)), wake_(std::move(wake)) {}

    Timer add_timer(Time due, Time period, Task task);
    int wait_milliseconds(Time max_wait) const;
    void fire_timers();
    void run_posted();
    void wake();

    FileDescriptor epoll_;
    EventDescriptor wake_;  ///< interrupts epoll_wait
    std::uint64_t last_id_ = 0;
    // Shared, so that a callback may remove itself and still return into its own body.
    std::map<std::uint64_t, std::shared_ptr<Watched>> watches_;
    std::map<std::uint64_t, std::shared_ptr<Alarm>> timers_;
    std::map<std::pair<Time, std::uint64_t>, std::shared_ptr<Alarm>> agenda_;  ///< timers_ in order of time
    std::atomic<bool> stopping_{false};
    std::mutex posted_mutex_;
    std::vector<Task> posted_;  ///< guarded by posted_mutex_
};

}  // namespace verbline::control
