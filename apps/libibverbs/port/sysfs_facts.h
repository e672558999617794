// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What sysfs shows of an open port (apps/libibverbs/namespace/sysfs_tree.h).

#include "apps/libibverbs/namespace/sysfs_tree.h"
#include "apps/libibverbs/port/port.h"

namespace verbline::verbs {

DeviceFacts sysfs_facts(const VerbsPort& port);

}  // namespace verbline::verbs
