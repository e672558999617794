// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The table of multicast groups of a running gateway or host.

#include "control/gateway/tables.h"

namespace verbline::gateway {

/// A row for each port and group that has listeners there, or that the port has joined at its subnet administrator.
telemetry::Json multicast(const View& gateway);

}  // namespace verbline::gateway
