// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What sysfs says of a port of ours (apps/libibverbs/namespace/sysfs_tree.h), once it is open.

#include "apps/libibverbs/namespace/sysfs_tree.h"
#include "apps/libibverbs/port/port.h"

namespace verbline::verbs {

DeviceFacts sysfs_facts(const Port& port);

}  // namespace verbline::verbs
