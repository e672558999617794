// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Membership of an interface of the kernel's in a multicast group: the kernel tells routers and switches (IGMP, MLD),
/// and lets the group's frames in.

#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::host {

/// `group`: an IPv4 group mapped, or an IPv6 one. The membership ends with the descriptor; each has one of its own,
/// since the kernel lets a socket be in few groups. ENODEV: there is no such interface.
Result<FileDescriptor> join_kernel_group(unsigned ifindex, const wire::Gid& group);

}  // namespace verbline::host
