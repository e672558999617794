// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/port_reservations.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <span>

#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include "control/host/own_file.h"
#include "control/hub/port_messages.h"
#include "datapath/wire/bytes.h"

namespace verbline::host {
namespace {

using hub::first_ephemeral_port, hub::last_ephemeral_port;

constexpr auto file_prefix = "verbline-ports-";

/// FNV-1a. Two addresses that share a region, one time in two thousand million, keep each other from ports.
constexpr std::uint64_t hash(std::span<const std::byte> bytes, std::uint64_t seed) {
    for (const auto byte : bytes) seed = (seed ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
    return seed;
}

std::uint64_t region_of(const wire::MacAddress& mac) {
    struct stat network{};
    stat("/proc/thread-self/ns/net", &network);
    std::array<std::byte, 8> name{};
    wire::store64(name, 0, network.st_ino);
    constexpr std::uint64_t fnv_basis = 0xcbf29ce484222325;
    return hash(mac.bytes, hash(name, fnv_basis)) >> 33;  // 31 bits: offsets in files have a sign
}

}  // namespace

PortReservations::PortReservations(FileDescriptor file, std::uint64_t region)
    : file_(std::move(file)), region_(region) {
    constexpr unsigned count = last_ephemeral_port - first_ephemeral_port + 1;
    next_ephemeral_ = static_cast<std::uint16_t>(first_ephemeral_port + std::random_device()() % count);
}

Result<PortReservations> PortReservations::open(const wire::MacAddress& mac, const std::filesystem::path& directory) {
    auto file = open_own_file(directory, file_prefix);
    if (!file) {
        return failure(file.error().code,
                       fmt::format("{}; that file lists the ports in use: make {} writable, with room for a file",
                                   file.error().what, directory.string()));
    }
    return PortReservations(*std::move(file), region_of(mac));
}

Result<std::uint16_t> PortReservations::reserve(std::uint16_t space, std::uint16_t port) {
    if (port != 0) {
        const auto taken = take(space, port);
        if (!taken) return std::unexpected(taken.error());
        if (*taken) return port;
        return failure(EADDRINUSE, fmt::format("port {} is in use by {}; choose another", port,
                                               held_.contains({space, port}) ? "this program" : "another program"));
    }
    for (unsigned tried = first_ephemeral_port; tried <= last_ephemeral_port; ++tried) {
        const auto each = next_ephemeral_;
        next_ephemeral_ = each == last_ephemeral_port ? first_ephemeral_port : static_cast<std::uint16_t>(each + 1);
        const auto taken = take(space, each);
        if (!taken) return std::unexpected(taken.error());
        if (*taken) return each;
    }
    return failure(EADDRINUSE, "all ephemeral ports are in use; end some programs, or name a port");
}

/// The byte of a port, in the region of its address.
struct flock PortReservations::lock_of(short type, std::uint16_t space, std::uint16_t port) const {
    return {.l_type = type,
            .l_whence = SEEK_SET,
            .l_start = static_cast<off_t>(region_ << 32 | std::uint64_t{space} << 16 | port),
            .l_len = 1,
            .l_pid = 0};
}

/// False: taken.
Result<bool> PortReservations::take(std::uint16_t space, std::uint16_t port) {
    if (held_.contains({space, port})) return false;
    auto lock = lock_of(F_WRLCK, space, port);
    const auto held = held_.emplace(space, port).first;  // first: it may throw
    // An open file description lock, since a process lock is lost when any code in this program closes the file.
    if (fcntl(file_.get(), F_OFD_SETLK, &lock) == 0) return true;
    const int code = errno;
    held_.erase(held);
    if (code == EAGAIN || code == EACCES) return false;
    return failure(code, fmt::format("port {} cannot be reserved: {}", port, std::strerror(code)));
}

Result<void> PortReservations::release(std::uint16_t space, std::uint16_t port) {
    const auto held = held_.find({space, port});
    if (held == held_.end()) return failure(ENOENT, fmt::format("port {} is not reserved", port));
    auto lock = lock_of(F_UNLCK, space, port);
    if (fcntl(file_.get(), F_OFD_SETLK, &lock) != 0) {
        return failure(errno, fmt::format("port {} cannot be released: {}", port, std::strerror(errno)));
    }
    held_.erase(held);
    return {};
}

Result<bool> PortReservations::elsewhere(std::uint16_t space, std::uint16_t port) const {
    auto lock = lock_of(F_WRLCK, space, port);
    // Reports a conflicting lock; our own locks do not conflict.
    if (fcntl(file_.get(), F_OFD_GETLK, &lock) == 0) return lock.l_type != F_UNLCK;
    return failure(errno, fmt::format("the owner of port {} cannot be determined: {}", port, std::strerror(errno)));
}

}  // namespace verbline::host
