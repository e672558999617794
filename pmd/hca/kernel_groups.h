// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Multicast groups that the kernel's interface below an Ethernet port is a member of, for us.
///
/// Where RoCE v2 passes through the kernel's IP (rxe), IP discards packets to groups of which the interface is no
/// member, and so attaching a queue pair is not enough; where an adapter handles it, the membership tells switches
/// that snoop (MLD, IGMP) where the group is wanted.

#include <system_error>

#include "datapath/wire/types.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::pmd::hca {

/// Memberships end with the object. Control thread.
class KernelGroups {
public:
    /// `interface`: its index; 0: not known, and nothing is joined.
    explicit KernelGroups(unsigned interface) : interface_(interface) {}

    /// `group`: an IPv6 group, or an IPv4 one as a mapped address. Idempotent.
    std::error_code join(const wire::Gid& group);
    std::error_code leave(const wire::Gid& group);

private:
    std::error_code change(const wire::Gid& group, bool member);

    unsigned interface_;
    FileDescriptor ipv4_, ipv6_;  ///< bound to no port: they receive nothing
};

}  // namespace verbline::pmd::hca
