// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What libibverbs reports of a device, as rows: every field of `ibv_devinfo -v`, by its names and in its order, flags
/// by the names of infiniband/verbs.h.

#include <span>
#include <string>

#include <infiniband/verbs.h>

#include "apps/verbline/output/table.h"

namespace verbline::cli {

struct DeviceIdentity {
    std::string name;
    ibv_node_type node_type = IBV_NODE_CA;
    ibv_transport_type transport = IBV_TRANSPORT_IB;
    std::string board;
    int completion_vectors = 0;
};

Json device_row(const DeviceIdentity& identity, const ibv_device_attr_ex& attributes);
Json port_row(unsigned number, const ibv_port_attr& attributes);
/// One row for each valid entry of the GID table.
Json gid_rows(std::span<const ibv_gid_entry> entries);

}  // namespace verbline::cli
