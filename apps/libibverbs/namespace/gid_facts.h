// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A port's GID table as sysfs shows it.

#include <vector>

#include "apps/libibverbs/namespace/sysfs_tree.h"
#include "datapath/link/gid_table.h"

namespace verbline::verbs {

/// Up to the last entry; holes before it are zero, as the kernel shows them. Asks the kernel for names of interfaces.
std::vector<GidFacts> gids_of(const link::GidTable& table);

}  // namespace verbline::verbs
