// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Messages on port numbers of the connection manager's port spaces (annex A11), and how the client uses them; what
/// conflicts is refused (control/rdmacm/port_use.h). Part of protocol.h. Each message is about one use; a client may
/// have several of a number.

#include <cstdint>

#include "control/rdmacm/port_use.h"

namespace verbline::hub {

using rdmacm::PortUse;

/// Range of ephemeral ports, as in Linux; clients may also name ports of it.
constexpr std::uint16_t first_ephemeral_port = 32768, last_ephemeral_port = 60999;

struct Reserve {
    std::uint16_t space = 0;
    std::uint16_t port = 0;  ///< 0: any ephemeral one
    PortUse use{};
    bool operator==(const Reserve&) const = default;
};
struct Reserved {
    std::uint16_t port = 0;
    bool operator==(const Reserved&) const = default;
};
/// Its use changes: its id listens, for one.
struct Rebind {
    std::uint16_t space = 0;
    std::uint16_t port = 0;
    PortUse from{}, to{};
    bool operator==(const Rebind&) const = default;
};
struct Release {
    std::uint16_t space = 0;
    std::uint16_t port = 0;
    PortUse use{};
    bool operator==(const Release&) const = default;
};

}  // namespace verbline::hub
