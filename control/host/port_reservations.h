// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Port numbers of the connection manager's port spaces (annex A11), unique among the programs that share an address on
/// this host without a hub that could give them out.
///
/// Each is a byte of an empty file, locked: locks need no descriptor of their own, so that a program may have tens of
/// thousands, and the kernel gives them back by whatever end the program goes. A user's programs in all network
/// namespaces share the file; the bytes are another namespace's or address's own.
///
/// Promised: two programs of a user never have one port of an address, and no other user but root can keep them from
/// any, for each user has a file that nobody else can open (own_file.h). Users do not see each other's ports. They need
/// not: the addresses of a kernel's interface are one user's at a time (udp_guard.h says whose turn it is not), and
/// whoever gives programs addresses of their own on it, which takes CAP_NET_RAW, must not give two of them the same.
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
    /// What is reserved here ends with this object; the child of a fork should destroy its copy, or it lives on there.
    /// `mac`: of the interface, in the thread's network namespace.
    /// `directory`: where the file is, or is made; all users may write there.
    static Result<PortReservations> open(const wire::MacAddress& mac,
                                         const std::filesystem::path& directory = "/dev/shm");

    /// `port`, or 0 for an ephemeral one. EADDRINUSE: somebody has it, or there is none left; who asks twice is no
    /// exception.
    Result<std::uint16_t> reserve(std::uint16_t space, std::uint16_t port);
    /// ENOENT: it was not reserved here.
    Result<void> release(std::uint16_t space, std::uint16_t port);
    /// Whether another program has it.
    Result<bool> elsewhere(std::uint16_t space, std::uint16_t port) const;

private:
    PortReservations(FileDescriptor file, std::uint64_t region);
    struct flock lock_of(short type, std::uint16_t space, std::uint16_t port) const;
    Result<bool> take(std::uint16_t space, std::uint16_t port);

    FileDescriptor file_;
    std::uint64_t region_;  ///< of the file, where the bytes for this address are
    std::uint16_t next_ephemeral_;
    std::set<std::pair<std::uint16_t, std::uint16_t>> held_;  ///< our own locks do not keep us out
};

}  // namespace verbline::host
