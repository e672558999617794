// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What sysfs shows of the devices before a program opens one. Programs that only read sysfs, such as ibstat and
/// ibstatus, see nothing else.

#include <vector>

#include "apps/libibverbs/namespace/sysfs_tree.h"
#include "apps/libibverbs/settings/settings.h"
#include "datapath/wire/types.h"

namespace verbline::verbs {

/// The facts known of the devices: of an interface, what the kernel reports; of a soft fabric's port, what its subnet
/// manager has given it; of other links the address `own_mac`, which the program is to take, and those of the settings.
/// Addresses that a hub gives are not known yet. Blocks for a soft fabric, as fabric_port does.
std::vector<DeviceFacts> first_facts(const Settings& settings, const wire::MacAddress& own_mac);

}  // namespace verbline::verbs
