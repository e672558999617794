// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/device.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <utility>

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "apps/libibverbs/port/owner.h"
#include "apps/libibverbs/port/process.h"
#include "apps/libibverbs/ucma/commands.h"
#include "pmd/base/clock.h"

namespace verbline::verbs {
namespace {

constexpr Time closing_limit = 50 * millisecond;

/// Where the kernel has such a device as well, librdmacm accepts only the one whose number the kernel reports
/// (RDMA_NLDEV_CMD_GET_CHARDEV). Kernels give the number as it comes.
unsigned minor_number() {
    std::ifstream devices("/proc/misc");
    unsigned number = 0;
    for (std::string name; devices >> number >> name;)
        if (name == "rdma_cm") return number;
    return 58;
}

}  // namespace

RdmaCmDevice& RdmaCmDevice::get() {
    static auto* const device = new RdmaCmDevice;  // never destroyed, as Process
    return *device;
}

RdmaCmDevice::RdmaCmDevice() {
    Process::get();  // registers its fork handlers first, so that ours hold the engine before it holds the ports
    pthread_atfork([] { get().before_fork(); }, [] { get().after_fork_in_parent(); },
                   [] { get().after_fork_in_child(); });
    std::atexit([] { get().at_exit(); });
}

CmEngine* RdmaCmDevice::engine() {
    if (engine_ != nullptr) return engine_.get();
    auto started = CmEngine::start(Process::get(), [this] { close_channels(); });
    if (!started) {
        complain(started.error());
        errno = started.error().code;
        return nullptr;
    }
    engine_ = std::move(*started);
    return engine_.get();
}

int RdmaCmDevice::open(int flags) {
    if (Owner::caller() != Owner::Caller::owner) return fail_with(EIO);
    const Uncancelled uncancelled;
    try {
        const std::scoped_lock lock(mutex_);
        if (engine() == nullptr) return -1;
        auto channel = EventChannel::open(flags, [this](const auto& changed) { engine_->changed(changed); });
        if (!channel) return fail_with(channel.error());
        const auto descriptor = add(std::move(*channel));
        return descriptor ? *descriptor : fail_with(descriptor.error());
    } catch (const std::bad_alloc&) {
        return fail_with(ENOMEM);
    }
}

ssize_t RdmaCmDevice::write(int descriptor, const void* bytes, std::size_t size) {
    const auto command = Command::read(reinterpret_cast<std::uint64_t>(bytes), size);
    if (!command) return fail_with(command.error());
    const auto channel = find(descriptor);
    if (channel == nullptr) return write_to_closing(descriptor, *command);
    // Not inside a try block: waiting for an event is a cancellation point.
    const int error =
        command->number() == RDMA_USER_CM_CMD_GET_EVENT ? get_event(channel, *command) : run(channel, *command);
    return error == 0 ? static_cast<ssize_t>(size) : fail_with(error);
}

/// Another thread is in close(). With the kernel, a GET_EVENT that starts before close() has finished blocks forever,
/// as closing does not wake it; rping does this: its main thread closes the channel on which another waits for events.
ssize_t RdmaCmDevice::write_to_closing(int descriptor, const Command& command) {
    const int flags = command.number() == RDMA_USER_CM_CMD_GET_EVENT ? fcntl(descriptor, F_GETFL) : -1;
    if (flags < 0 || (flags & (O_NONBLOCK | O_PATH)) != 0) return fail_with(EBADF);
    for (;;) pause();
}

int RdmaCmDevice::run(const std::shared_ptr<EventChannel>& channel, const Command& command) noexcept {
    const Uncancelled uncancelled;
    try {
        // Looked up before the service is held: the lock order everywhere.
        const auto migrates = command.number() == RDMA_USER_CM_CMD_MIGRATE_ID;
        const auto from = migrates ? command.input<rdma_ucm_migrate_id>() : failure(0, {});
        const auto other = from ? find(static_cast<int>(from->fd)) : nullptr;
        return engine_->with([&](rdmacm::Service& service, Time now) {
            // GET_EVENT goes on waiting, as in `write_to_closing`.
            const bool waits = command.number() == RDMA_USER_CM_CMD_GET_EVENT;
            if (channel->closed() || (other != nullptr && other->closed())) return waits ? EAGAIN : EBADF;
            CommandTarget target{.service = service,
                                 .events = channel->queue(),
                                 .other = other != nullptr ? &other->queue() : nullptr,
                                 .now = now};
            const auto done = run_command(command, target);
            engine_->changed(channel);
            if (other != nullptr) engine_->changed(other);
            if (done) return 0;
            hint(done.error());
            return done.error().code;
        });
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    }
}

/// After a wake-up the event may not be there: its id was destroyed, or another thread has taken it.
int RdmaCmDevice::get_event(const std::shared_ptr<EventChannel>& channel, const Command& command) {
    pthread_testcancel();  // a thread that never has to wait can be cancelled as well
    for (;;) {
        if (const int error = run(channel, command); error != EAGAIN) return error;
        engine_->leave();
        if (const int error = channel->wait(); error != 0) return error;
    }
}

void RdmaCmDevice::describe(struct stat& about) {
    constexpr unsigned misc_major = 10;
    about.st_mode = S_IFCHR | 0666;
    about.st_rdev = makedev(misc_major, minor_number());
}

/// Uses raw system calls only, none of which is a cancellation point.
void RdmaCmDevice::close(EventChannel& channel) noexcept {
    if (channel.abandoned()) return;  // inherited by a child: not closed here
    const bool waits = channel.has_ids();
    close_later(channel);
    const auto round = rounds_begun_.load() + 1;
    engine_->ask();
    if (!waits) return;
    const auto until = monotonic_now() + closing_limit;
    for (;;) {
        const auto done = rounds_done_.load();
        const auto left = until - monotonic_now();
        if (static_cast<std::int32_t>(done - round) >= 0 || left <= 0) return;
        const timespec time{.tv_sec = 0, .tv_nsec = left};
        syscall(SYS_futex, &rounds_done_, FUTEX_WAIT_PRIVATE, done, &time, nullptr, 0);
    }
}

/// Runs on the control thread.
void RdmaCmDevice::close_channels() {
    const auto round = rounds_begun_.fetch_add(1) + 1;
    take_closing([this](EventChannel& channel) {
        engine_->with([&](rdmacm::Service& service, Time now) {
            channel.close();
            service.close(channel.queue(), now);
        });
    });
    rounds_done_.store(round);
    syscall(SYS_futex, &rounds_done_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void RdmaCmDevice::before_fork() {
    if (Owner::caller() != Owner::Caller::owner) return;
    mutex_.lock();
    forking_ = true;
    if (engine_ != nullptr) engine_->before_fork();
}

void RdmaCmDevice::after_fork_in_parent() {
    if (!std::exchange(forking_, false)) return;
    if (engine_ != nullptr) engine_->after_fork();
    mutex_.unlock();
}

/// The child has neither the engine's thread nor its ports: the engine and the queues that it refers to are leaked.
void RdmaCmDevice::after_fork_in_child() {
    if (!std::exchange(forking_, false)) return;
    if (engine_ != nullptr) std::ignore = new std::pair(std::move(engine_), files_);
    abandon_files();
    mutex_.unlock();
}

/// Disconnects from all peers, as the kernel does when a process ends.
void RdmaCmDevice::at_exit() {
    if (Owner::caller() != Owner::Caller::owner) return;
    std::unique_lock lock(mutex_);
    if (engine_ == nullptr) return;
    engine_->with([&](rdmacm::Service& service, Time now) {
        for (const auto& [raw, channel] : files_) {
            if (channel->abandoned()) continue;
            channel->close();
            service.close(channel->queue(), now);
        }
    });
    lock.unlock();  // other threads may still use it: it stays
    engine_->finish();
}

}  // namespace verbline::verbs
