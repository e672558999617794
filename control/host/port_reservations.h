// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Reservation of port numbers of the connection manager's port spaces (annex A11), unique among the programs that
/// share an address on this host without a hub to allocate them.
///
/// Each number is a locked byte of an empty file: byte locks need no descriptor each, so a program may hold tens of
/// thousands, and the kernel releases them however the program ends. A user's programs in all network namespaces share
/// the file; each namespace and address has its own range of bytes.
///
/// Guarantee: two programs of a user never hold the same port of an address, and no other user but root can block them,
/// since each user has a file that no other user can open (own_file.h). Reservations of different users are
/// independent, which is safe: a kernel interface's addresses are used by one user at a time (udp_guard.h), and giving
/// programs addresses of their own on the interface takes CAP_NET_RAW; no address may then be given to two programs.
///
/// One thread at a time. Nothing blocks.

#include <cstdint>
#include <filesystem>
#include <set>
#include <utility>

#include <fcntl.h>

#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::host {

class PortReservations {
public:
    /// Reservations end with this object; the child of a fork should destroy its copy, or they live on there. `mac`: of
    /// the interface, in the thread's network namespace. `directory`: of the lock file, which is created if missing;
    /// must be writable for all users.
    static Result<PortReservations> open(const wire::MacAddress& mac,
                                         const std::filesystem::path& directory = "/dev/shm");

    /// `port`, or 0 for an ephemeral one. EADDRINUSE: taken, even if reserved by this object, or no ephemeral port is
    /// left.
    Result<std::uint16_t> reserve(std::uint16_t space, std::uint16_t port);
    /// ENOENT: not reserved by this object.
    Result<void> release(std::uint16_t space, std::uint16_t port);
    /// Whether another program has reserved it.
    Result<bool> elsewhere(std::uint16_t space, std::uint16_t port) const;

private:
    PortReservations(FileDescriptor file, std::uint64_t region);
    struct flock lock_of(short type, std::uint16_t space, std::uint16_t port) const;
    Result<bool> take(std::uint16_t space, std::uint16_t port);

    FileDescriptor file_;
    std::uint64_t region_;  ///< offset in the file of this address's bytes
    std::uint16_t next_ephemeral_;
    std::set<std::pair<std::uint16_t, std::uint16_t>> held_;  ///< our own locks do not conflict
};

}  // namespace verbline::host
