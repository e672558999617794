// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The MAC address for links that have none of their own (hub, memif, tap), so that sysfs has the node GUID before a
/// program opens the device: `verbline run` chooses it, and the first process below it that needs an address takes it.
///
///     run ── propose ──> ROOT/infiniband_verbs/.address <── take, with a lock ── first process; others choose anew

#include <filesystem>
#include <optional>

#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::verbs {

/// A random MAC address, locally administered (IEEE 802, 8.4).
wire::MacAddress random_mac();
/// The node GUID for this MAC address, as Linux derives it.
wire::Guid guid_of(const wire::MacAddress& mac);

/// Records the address; the directory must exist. `root`: as of SysfsTree.
Result<void> propose_address(const std::filesystem::path& root, const wire::MacAddress& mac);

struct TakenAddress {
    wire::MacAddress mac;
    FileDescriptor lock;  ///< no other process has the address while this is open
};
/// None: nothing is proposed, or another process has it.
std::optional<TakenAddress> take_proposed_address(const std::filesystem::path& root);

}  // namespace verbline::verbs
