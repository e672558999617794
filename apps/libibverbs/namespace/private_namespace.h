// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A mount namespace in which the devices have entries in /sys/class and /dev/infiniband, as they would have if the
/// kernel knew them. Only this process and its children see them; the machine's own /sys and /dev are not touched, and
/// nothing is left when the last of them ends.
///
/// As root this takes a mount namespace only. Otherwise it takes a user namespace as well, in which the user keeps uid
/// and gid but has no privileges outside; setuid programs do not work inside.

#include <span>

#include "apps/libibverbs/namespace/sysfs_tree.h"
#include "pmd/base/error.h"

namespace verbline::verbs {

/// The root of the devices' entries inside the namespace, for SysfsTree.
constexpr std::string_view sysfs_class = "/sys/class";

enum class UserNamespace : bool { refused, allowed };

/// Moves this process, which must have one thread only, into a namespace of its own. What it fails at leaves the
/// process either where it was or in a namespace that is as the machine's: the program can go on without the entries.
Result<void> enter_private_namespace(std::span<const DeviceFacts> devices, UserNamespace user);

}  // namespace verbline::verbs
