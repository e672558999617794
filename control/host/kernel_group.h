// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Membership of a kernel interface in a multicast group: the kernel sends IGMP or MLD reports and accepts the group's
/// frames.

#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::host {

/// `group`: an IPv6 group, or an IPv4 group mapped. Closing the descriptor leaves the group; each membership has its
/// own socket, since the kernel limits the groups per socket. ENODEV: no such interface.
Result<FileDescriptor> join_kernel_group(unsigned ifindex, const wire::Gid& group);

}  // namespace verbline::host
