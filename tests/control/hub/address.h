// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "datapath/link/interface_address.h"

namespace verbline::hub {

/// As programs are given it: 10.0.0.1/24.
inline link::InterfaceAddress address(const char* text) {
    return *link::parse_interface_address(text);
}

}  // namespace verbline::hub
