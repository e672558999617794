// SPDX-License-Identifier: BSD-3-Clause
// read, write and ioctl of umad devices.
#include <cerrno>
#include <cstddef>
#include <new>
#include <vector>

#include <pthread.h>

#include <rdma/ib_user_mad.h>
#include <rdma/rdma_user_ioctl.h>

#include "apps/libibverbs/port/answered_device.h"
#include "apps/libibverbs/ucma/user_memory.h"
#include "apps/libibverbs/umad/device.h"
#include "apps/libibverbs/umad/registration.h"

namespace verbline::verbs {
namespace {

std::uint64_t address_of(const void* bytes) {
    return reinterpret_cast<std::uint64_t>(bytes);
}

template <class Number>
Result<void> write_number(std::uint64_t address, Number number) {
    return write_user(address, std::as_bytes(std::span(&number, 1)));
}

/// The agent's number is the first member of either request.
Result<void> register_agent(UmadFile& file, const Result<Registration>& registration, std::uint64_t argument) {
    if (!registration) return std::unexpected(registration.error());
    const auto id = file.port().register_agent(file.id(), *registration);
    if (!id) return std::unexpected(id.error());
    file.use();
    auto told = write_number(argument, *id);
    if (!told) std::ignore = file.port().unregister_agent(file.id(), *id);
    return told;
}

Result<void> register_old(UmadFile& file, std::uint64_t argument) {
    const auto request = read_user<ib_user_mad_reg_req>(argument);
    if (!request) return std::unexpected(request.error());
    return register_agent(file, registration_of(*request), argument);
}

Result<void> register_new(UmadFile& file, std::uint64_t argument) {
    const auto request = read_user<ib_user_mad_reg_req2>(argument);
    if (!request) return std::unexpected(request.error());
    if ((request->flags & ~std::uint32_t{IB_USER_MAD_REG_FLAGS_CAP}) != 0) {
        // The kernel answers with the flags that it knows.
        const auto told =
            write_number(argument + offsetof(ib_user_mad_reg_req2, flags), std::uint32_t{IB_USER_MAD_REG_FLAGS_CAP});
        if (!told) return told;
    }
    return register_agent(file, registration_of(*request), argument);
}

Result<void> unregister(UmadFile& file, std::uint64_t argument) {
    const auto id = read_user<std::uint32_t>(argument);
    if (!id) return std::unexpected(id.error());
    return file.port().unregister_agent(file.id(), *id);
}

Result<void> write_message(UmadFile& file, const void* bytes, std::size_t size) {
    const auto layout = file.layout();
    if (auto good = check_length(size, layout); !good) return good;
    std::vector<std::byte> copy(size);
    if (auto read = read_user(address_of(bytes), copy); !read) return read;
    return file.port().write(file.id(), parse_outgoing(copy, layout));
}

}  // namespace

Result<void> UmadDevice::run(UmadFile& file, unsigned long request, std::uint64_t argument) {
    switch (request) {
        case IB_USER_MAD_REGISTER_AGENT: close_files(); return register_old(file, argument);
        case IB_USER_MAD_REGISTER_AGENT2: close_files(); return register_new(file, argument);
        case IB_USER_MAD_UNREGISTER_AGENT: return unregister(file, argument);
        case IB_USER_MAD_ENABLE_PKEY: return file.enable_pkey();
        default: return failure(ENOTTY, "no such request");
    }
}

int UmadDevice::ioctl(int descriptor, unsigned long request, void* argument) {
    const auto file = find(descriptor);
    if (file == nullptr) return fail_with(EBADF);
    const Uncancelled uncancelled;
    try {
        const auto done = run(*file, request, address_of(argument));
        return done ? 0 : fail_with(done.error());
    } catch (const std::bad_alloc&) {
        return fail_with(ENOMEM);
    }
}

ssize_t UmadDevice::write(int descriptor, const void* bytes, std::size_t size) {
    const auto file = find(descriptor);
    if (file == nullptr) return fail_with(EBADF);
    const Uncancelled uncancelled;
    try {
        const auto done = write_message(*file, bytes, size);
        return done ? static_cast<ssize_t>(size) : fail_with(done.error());
    } catch (const std::bad_alloc&) {
        return fail_with(ENOMEM);
    }
}

/// Not inside a try block: waiting for a message is a cancellation point.
ssize_t UmadDevice::read(int descriptor, void* bytes, std::size_t size) {
    const auto file = find(descriptor);
    if (file == nullptr) return fail_with(EBADF);
    pthread_testcancel();
    for (;;) {
        const auto taken = file->take(address_of(bytes), size);
        if (taken) return static_cast<ssize_t>(*taken);
        if (taken.error().code != EAGAIN) return fail_with(taken.error());
        if (const int error = file->readiness().wait(); error != 0) return fail_with(error);
    }
}

}  // namespace verbline::verbs
