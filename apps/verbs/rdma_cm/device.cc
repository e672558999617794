// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbs/rdma_cm/device.h"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>

#include <pthread.h>
#include <sys/sysmacros.h>

#include "apps/verbs/port/process.h"
#include "apps/verbs/rdma_cm/commands.h"

namespace verbline::verbs {
namespace {

int fail(int code) {
    errno = code;
    return -1;
}

/// The thread is not cancelled for as long as this lives: what we write to may be a cancellation point.
class Uncancelled {
public:
    Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    Uncancelled(const Uncancelled&) = delete;
    Uncancelled& operator=(const Uncancelled&) = delete;
    ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }

private:
    int before_ = 0;
};

/// Where the kernel has such a device as well, librdmacm takes no other than the one whose number the kernel tells it
/// (RDMA_NLDEV_CMD_GET_CHARDEV). Kernels give the number as it comes.
unsigned minor_number() {
    std::ifstream devices("/proc/misc");
    unsigned number = 0;
    for (std::string name; devices >> number >> name;)
        if (name == "rdma_cm") return number;
    return 58;
}

}  // namespace

constinit DescriptorSet RdmaCmDevice::descriptors_;

RdmaCmDevice& RdmaCmDevice::get() {
    static auto* const device = new RdmaCmDevice;  // never destroyed, as Process
    return *device;
}

RdmaCmDevice::RdmaCmDevice() {
    Process::get();  // its handlers come first, so that ours hold the engine before it holds the ports
    pthread_atfork([] { get().before_fork(); }, [] { get().after_fork_in_parent(); },
                   [] { get().after_fork_in_child(); });
    std::atexit([] { get().at_exit(); });
}

Engine* RdmaCmDevice::engine() {
    if (engine_ != nullptr) return engine_.get();
    auto started = Engine::start(Process::get());
    if (!started) {
        complain(started.error());
        errno = started.error().code;
        return nullptr;
    }
    engine_ = std::move(*started);
    return engine_.get();
}

int RdmaCmDevice::open(int flags) {
    const Uncancelled uncancelled;
    try {
        const std::scoped_lock lock(mutex_);
        if (engine() == nullptr) return -1;
        auto channel = Channel::open(flags, [this](const auto& changed) { engine_->changed(changed); });
        if (!channel) return fail(channel.error().code);
        const int descriptor = (*channel)->descriptor();
        if (!DescriptorSet::in_range(descriptor)) {
            close(descriptor);
            return fail(EMFILE);
        }
        channels_[descriptor] = std::move(*channel);
        descriptors_.add(descriptor);
        return descriptor;
    } catch (const std::bad_alloc&) {
        return fail(ENOMEM);
    }
}

std::shared_ptr<Channel> RdmaCmDevice::find(int descriptor) {
    const std::scoped_lock lock(mutex_);
    const auto found = channels_.find(descriptor);
    return found != channels_.end() ? found->second : nullptr;
}

bool RdmaCmDevice::owns(int descriptor) {
    if (!may_own(descriptor)) return false;
    const auto channel = find(descriptor);
    if (channel == nullptr) return false;
    if (channel->abandoned() ? channel->intact() : channel->intact(engine_->now())) return true;
    forget(descriptor);
    return false;
}

ssize_t RdmaCmDevice::write(int descriptor, const void* bytes, std::size_t size) {
    const auto channel = find(descriptor);
    if (channel == nullptr) return fail(EBADF);  // closed meanwhile
    if (channel->abandoned()) return fail(EIO);
    const auto command = Command::read(reinterpret_cast<std::uint64_t>(bytes), size);
    if (!command) return fail(command.error().code);
    // Not inside of a try: waiting for an event is where threads are cancelled.
    const int error =
        command->number() == RDMA_USER_CM_CMD_GET_EVENT ? get_event(channel, *command) : run(channel, *command);
    return error == 0 ? static_cast<ssize_t>(size) : fail(error);
}

int RdmaCmDevice::run(const std::shared_ptr<Channel>& channel, const Command& command) noexcept {
    const Uncancelled uncancelled;
    try {
        // Found before the service is taken hold of, as everywhere.
        const auto migrates = command.number() == RDMA_USER_CM_CMD_MIGRATE_ID;
        const auto from = migrates ? command.input<rdma_ucm_migrate_id>() : failure(0, {});
        const auto other = from ? find(static_cast<int>(from->fd)) : nullptr;
        return engine_->with([&](rdmacm::Service& service, Time now) {
            // As in the kernel, closing does not wake who waits: rping's main thread closes what its other one waits
            // for.
            const bool waits = command.number() == RDMA_USER_CM_CMD_GET_EVENT;
            if (channel->closed() || (other != nullptr && other->closed())) return waits ? EAGAIN : EBADF;
            CommandTarget target{.service = service,
                                 .events = channel->queue(),
                                 .other = other != nullptr ? &other->queue() : nullptr,
                                 .now = now};
            const auto done = run_command(command, target);
            engine_->changed(channel);
            if (other != nullptr) engine_->changed(other);
            return done ? 0 : done.error().code;
        });
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    }
}

/// What we have waited for may have been of an id that is gone, or another thread was faster.
int RdmaCmDevice::get_event(const std::shared_ptr<Channel>& channel, const Command& command) {
    pthread_testcancel();  // who never has to wait can be cancelled as well
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

void RdmaCmDevice::forget(int descriptor) {
    const Uncancelled uncancelled;
    std::shared_ptr<Channel> channel;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = channels_.find(descriptor);
        if (found == channels_.end()) return;
        channel = std::move(found->second);
        channels_.erase(found);
        descriptors_.remove(descriptor);
    }
    if (channel->abandoned()) return;
    engine_->with([&](rdmacm::Service& service, Time now) {
        channel->close();
        service.close(channel->queue(), now);
    });
}

void RdmaCmDevice::before_fork() {
    mutex_.lock();
    if (engine_ != nullptr) engine_->before_fork();
}

void RdmaCmDevice::after_fork_in_parent() {
    if (engine_ != nullptr) engine_->after_fork();
    mutex_.unlock();
}

/// The engine's thread and ports are not here; what it has is left as it is, with the queues that it knows.
void RdmaCmDevice::after_fork_in_child() {
    if (engine_ != nullptr) std::ignore = new std::pair(std::move(engine_), channels_);
    for (const auto& [descriptor, channel] : channels_) channel->abandon();
    mutex_.unlock();
}

/// Peers are told, as the kernel tells them when a process ends.
void RdmaCmDevice::at_exit() {
    std::unique_lock lock(mutex_);
    if (engine_ == nullptr) return;
    engine_->with([&](rdmacm::Service& service, Time now) {
        for (const auto& [descriptor, channel] : channels_) {
            if (channel->abandoned()) continue;
            channel->close();
            service.close(channel->queue(), now);
        }
    });
    lock.unlock();  // other threads may still use it: it stays
    engine_->finish();
}

}  // namespace verbline::verbs
