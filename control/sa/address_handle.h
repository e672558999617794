// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Address handles made of the SA's path and group records.

#include "control/sa/membership.h"
#include "datapath/wire/address_handle.h"
#include "datapath/wire/path_record.h"
#include "datapath/wire/types.h"

namespace verbline::sa {

/// A GRH is needed only to cross a router, which a hop limit above one announces (IBTA volume 1, 13.5.4, 15.2.5.16).
constexpr wire::AddressHandle address_handle(const wire::PathRecord& path) {
    return {.dlid = path.destination_lid,
            .sl = path.service_level,
            .global = path.hop_limit > 1,
            .dgid = path.destination_gid,
            .hop_limit = path.hop_limit,
            .traffic_class = path.traffic_class,
            .flow_label = path.flow_label};
}

/// Packets to groups always carry a GRH (9.4.1.1).
constexpr wire::AddressHandle address_handle(const Group& group, const wire::Gid& mgid) {
    return {.dlid = group.mlid,
            .sl = group.service_level,
            .global = true,
            .dgid = mgid,
            .hop_limit = group.hop_limit,
            .traffic_class = group.traffic_class,
            .flow_label = group.flow_label};
}

}  // namespace verbline::sa
