// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/umad/device.h"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <new>
#include <string_view>
#include <utility>

#include <pthread.h>
#include <sys/sysmacros.h>

#include "apps/libibverbs/port/owner.h"
#include "apps/libibverbs/port/process.h"

namespace verbline::verbs {

UmadDevice& UmadDevice::get() {
    static auto* const device = new UmadDevice;  // never destroyed, as Process
    return *device;
}

UmadDevice::UmadDevice() {
    Process::get();  // registers its fork handlers first, so that ours hold the device before it holds the ports
    pthread_atfork([] { get().before_fork(); }, [] { get().after_fork_in_parent(); },
                   [] { get().after_fork_in_child(); });
    std::atexit([] { get().at_exit(); });
}

std::optional<unsigned> UmadDevice::index_of(const char* path) noexcept {
    constexpr std::string_view prefix = "/dev/infiniband/umad";
    const std::string_view name(path);
    if (!name.starts_with(prefix)) return std::nullopt;
    unsigned index = 0;
    const auto [end, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), index);
    if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
    return index;
}

UmadService* UmadDevice::service() {
    if (service_ != nullptr) return service_.get();
    auto started = UmadService::start(Process::get(), [this] { close_files(); });
    if (!started) {
        complain(started.error());
        errno = started.error().code;
        return nullptr;
    }
    service_ = std::move(*started);
    return service_.get();
}

Result<int> UmadDevice::open_file(unsigned index, int flags) {
    auto* const running = service();
    if (running == nullptr) return failure(errno, "umad");
    auto port = running->port(index);
    if (!port) {
        if (port.error().code != ENXIO) complain(port.error());
        return std::unexpected(port.error());
    }
    auto readiness = Readiness::open(flags, "a umad device");
    if (!readiness) return std::unexpected(readiness.error());
    auto file = std::make_shared<UmadFile>(std::move(*readiness), *port, FileId{++last_id_});
    (*port)->add(file);
    auto descriptor = add(file);
    if (!descriptor) (*port)->remove(file->id());
    return descriptor;
}

int UmadDevice::open(unsigned index, int flags) {
    if (Owner::caller() != Owner::Caller::owner) return fail_with(EIO);
    const Uncancelled uncancelled;
    try {
        const std::scoped_lock lock(mutex_);
        const auto opened = open_file(index, flags);
        return opened ? *opened : fail_with(opened.error());
    } catch (const std::bad_alloc&) {
        return fail_with(ENOMEM);
    }
}

void UmadDevice::describe(struct stat& about) {
    constexpr unsigned major = 231;  // IB_UMAD_FIXED_MAJOR of the kernel
    about.st_mode = S_IFCHR | 0666;
    about.st_rdev = makedev(major, 0);
}

void UmadDevice::close(UmadFile& file) noexcept {
    if (file.abandoned()) return;  // inherited by a child: not closed here
    close_later(file);
    service_->ask();
}

/// On the control thread, and before agents are registered: those of a file that was closed must be gone by then, as
/// with the kernel, whose close waits.
void UmadDevice::close_files() {
    const std::scoped_lock closing(closing_mutex_);
    take_closing([](UmadFile& file) { file.port().remove(file.id()); });
}

void UmadDevice::before_fork() {
    if (Owner::caller() != Owner::Caller::owner) return;
    closing_mutex_.lock();
    mutex_.lock();
    forking_ = true;
}

void UmadDevice::after_fork_in_parent() {
    if (!std::exchange(forking_, false)) return;
    mutex_.unlock();
    closing_mutex_.unlock();
}

/// The child has neither the control thread nor its ports: both are leaked, with all that refers to them.
void UmadDevice::after_fork_in_child() {
    if (!std::exchange(forking_, false)) return;
    if (service_ != nullptr) std::ignore = new std::pair(std::move(service_), files_);
    abandon_files();
    mutex_.unlock();
    closing_mutex_.unlock();
}

/// A fabric's simulator keeps the place of a process that has ended without leaving.
void UmadDevice::at_exit() {
    if (Owner::caller() != Owner::Caller::owner) return;
    UmadService* running = nullptr;
    {
        const std::scoped_lock lock(mutex_);
        running = service_.get();
    }
    if (running != nullptr) running->stop();
}

}  // namespace verbline::verbs
